// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// The cache directory if `--cache` is not given.
enum DefaultDirectory {
  #if os(macOS)
    static let words = "~/Library/Caches/Refrain"
  #else
    static let words = "refrain in $XDG_CACHE_HOME or ~/.cache"
  #endif

  /// Returns `$REFRAIN_CACHE`, else the library's own default.
  static func find(in environment: [String: String]) -> URL {
    if let chosen = environment["REFRAIN_CACHE"], !chosen.isEmpty {
      return URL(filePath: chosen, directoryHint: .isDirectory)
    }
    return CachesDirectory.find(in: environment)
  }
}
