// SPDX-License-Identifier: MIT
public import Foundation

extension MediaCache {
  /// Makes a cache directory. Blocks.
  ///
  /// - Returns: warnings of attributes that could not be set and are not essential.
  static func create(_ directory: String, on disk: any Disk) throws(DiskError) -> [CacheEvent] {
    let path = DiskBudget.entriesPath(in: directory)
    try disk.makeDirectories(path)
    do {
      // Only the directory that is entirely ours: the cache may lie in a folder with other files.
      // Set on every opening, because a process may end between the two steps; this costs next to
      // nothing.
      try disk.setStoredMediaAttributes(path)
      return []
    } catch {
      return [
        .warning(
          "\(path) could not be excluded from backups and kept readable on a locked device: "
            + error.localizedDescription)
      ]
    }
  }

  /// The default directory of a cache. Reading it creates nothing. May be called on any thread.
  ///
  /// - iOS, tvOS, visionOS: `Refrain` in the Caches folder of the app's container. The system may
  ///   empty it while the app does not run, when the device is short of room.
  /// - macOS: `Refrain` in a folder named by the app's bundle identifier in the user's Caches
  ///   folder, which is in the app's container if the app is sandboxed; without a bundle identifier
  ///   `~/Library/Caches/Refrain`.
  /// - Linux: `$XDG_CACHE_HOME/refrain`, else `~/.cache/refrain` (XDG Base Directory
  ///   Specification), for all programs of the user.
  public static var defaultDirectory: URL {
    defaultDirectory(in: ProcessInfo.processInfo.environment)
  }

  /// Returns the platform's directory; on Linux it depends on environment variables.
  package static func defaultDirectory(in environment: [String: String]) -> URL {
    #if os(macOS) || targetEnvironment(macCatalyst)
      directoryOnMac(.cachesDirectory, bundleIdentifier: Bundle.main.bundleIdentifier)
    #elseif canImport(Darwin)
      // In the app's container, which holds no other app's caches.
      URL.cachesDirectory.appending(component: "Refrain", directoryHint: .isDirectory)
    #else
      directoryOnLinux(environment, home: FileManager.default.homeDirectoryForCurrentUser)
    #endif
  }

  /// Returns a folder inside the app's own, named by its bundle identifier as is customary (Apple's
  /// File System Programming Guide): outside of a sandbox all apps share `~/Library/Caches`, and
  /// one must neither evict nor play the entries of another. A program without a bundle has no
  /// folder of its own.
  ///
  /// The rule is the same inside a sandbox, where it is unnecessary, so that it need not change
  /// when an app is sandboxed later, or no longer.
  static func directoryOnMac(_ caches: URL, bundleIdentifier: String?) -> URL {
    var folder = caches
    // Letters, digits, hyphens and periods (CFBundleIdentifier): a path that cannot lead elsewhere.
    if let bundleIdentifier, !bundleIdentifier.isEmpty, !bundleIdentifier.hasPrefix("."),
      !bundleIdentifier.contains("/")
    {
      folder.append(component: bundleIdentifier, directoryHint: .isDirectory)
    }
    return folder.appending(component: "Refrain", directoryHint: .isDirectory)
  }

  /// - Parameter home: the home directory if the variable HOME is not set.
  static func directoryOnLinux(
    _ environment: [String: String], home: @autoclosure () -> URL
  ) -> URL {
    // The specification requires ignoring relative paths.
    if let base = environment["XDG_CACHE_HOME"], base.hasPrefix("/") {
      return URL(filePath: base, directoryHint: .isDirectory)
        .appending(path: "refrain", directoryHint: .isDirectory)
    }
    let named = environment["HOME"] ?? ""
    let home = named.isEmpty ? home() : URL(filePath: named, directoryHint: .isDirectory)
    return home.appending(path: ".cache/refrain", directoryHint: .isDirectory)
  }
}
