// SPDX-License-Identifier: MIT
public import Foundation

/// The system's place for caches, and in it a folder of Refrain's.
package enum CachesDirectory {
  /// The platform's own, by these variables of the environment where it goes by any.
  package static func find(in environment: [String: String]) -> URL {
    #if os(macOS) || targetEnvironment(macCatalyst)
      onMac(caches: .cachesDirectory, bundleIdentifier: Bundle.main.bundleIdentifier)
    #elseif canImport(Darwin)
      // In the app's container: nobody else's caches are there.
      URL.cachesDirectory.appending(component: "Refrain", directoryHint: .isDirectory)
    #else
      onLinux(environment) { FileManager.default.homeDirectoryForCurrentUser }
    #endif
  }

  /// A folder in that of the app, by its bundle identifier as is the custom (Apple's File System
  /// Programming Guide): outside of a sandbox all apps share `~/Library/Caches`, and one of them must
  /// not evict, nor play, what another has stored. A program without a bundle has none of its own.
  ///
  /// Inside of a sandbox too, where it would not be needed: an app that is put into one, or taken out
  /// of one, needs no other rule.
  static func onMac(caches: URL, bundleIdentifier: String?) -> URL {
    var folder = caches
    // Letters, digits, hyphens and periods (CFBundleIdentifier): nothing that leads elsewhere.
    if let bundleIdentifier, !bundleIdentifier.isEmpty, !bundleIdentifier.hasPrefix("."),
      !bundleIdentifier.contains("/")
    {
      folder.append(component: bundleIdentifier, directoryHint: .isDirectory)
    }
    return folder.appending(component: "Refrain", directoryHint: .isDirectory)
  }

  /// `$XDG_CACHE_HOME/refrain`, else `~/.cache/refrain` (XDG Base Directory Specification).
  ///
  /// - Parameter home: where the variable HOME does not say.
  static func onLinux(_ environment: [String: String], home: () -> URL) -> URL {
    // A relative path is to be ignored.
    if let base = environment["XDG_CACHE_HOME"], base.hasPrefix("/") {
      return URL(filePath: base, directoryHint: .isDirectory)
        .appending(path: "refrain", directoryHint: .isDirectory)
    }
    let home =
      environment["HOME"].flatMap {
        $0.isEmpty ? nil : URL(filePath: $0, directoryHint: .isDirectory)
      } ?? home()
    return home.appending(path: ".cache/refrain", directoryHint: .isDirectory)
  }
}

extension MediaCache {
  /// Where a cache lies unless its owner says otherwise. Nothing is made by asking. May be called
  /// on any thread.
  ///
  /// - iOS, tvOS, visionOS: `Refrain` in the Caches folder of the app's container. The system may
  ///   empty it while the app does not run, when the device is short of room.
  /// - macOS: `Refrain` in a folder named by the app's bundle identifier in the user's Caches
  ///   folder, which is in the app's container where the app is sandboxed; without a bundle
  ///   identifier `~/Library/Caches/Refrain`.
  /// - Linux: `$XDG_CACHE_HOME/refrain`, else `~/.cache/refrain` (XDG Base Directory Specification),
  ///   for all programs of the user.
  public static var defaultDirectory: URL {
    CachesDirectory.find(in: ProcessInfo.processInfo.environment)
  }
}
