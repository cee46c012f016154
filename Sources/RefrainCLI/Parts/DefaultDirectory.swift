// SPDX-License-Identifier: MIT
import Foundation

/// Where the cache is, unless `--cache` says.
enum DefaultDirectory {
  #if os(macOS)
    static let words = "~/Library/Caches/refrain"
  #else
    static let words = "refrain in $XDG_CACHE_HOME or ~/.cache"
  #endif

  /// `$REFRAIN_CACHE`, else the platform's place for caches of programs.
  static func find(in environment: [String: String]) -> URL {
    if let chosen = environment["REFRAIN_CACHE"], !chosen.isEmpty {
      return URL(filePath: chosen, directoryHint: .isDirectory)
    }
    #if os(macOS)
      return home(environment).appending(
        path: "Library/Caches/refrain", directoryHint: .isDirectory)
    #else
      // A relative path is to be ignored (XDG Base Directory Specification).
      if let base = environment["XDG_CACHE_HOME"], base.hasPrefix("/") {
        return URL(filePath: base, directoryHint: .isDirectory)
          .appending(path: "refrain", directoryHint: .isDirectory)
      }
      return home(environment).appending(path: ".cache/refrain", directoryHint: .isDirectory)
    #endif
  }

  private static func home(_ environment: [String: String]) -> URL {
    if let home = environment["HOME"], !home.isEmpty {
      return URL(filePath: home, directoryHint: .isDirectory)
    }
    return FileManager.default.homeDirectoryForCurrentUser
  }
}
