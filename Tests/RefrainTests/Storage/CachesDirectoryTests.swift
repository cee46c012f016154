// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// Where the cache is by default.
struct CachesDirectoryTests {
  @Test func `The default directory is a local folder named Refrain`() {
    let folder = MediaCache.defaultDirectory
    #expect(folder.isFileURL && folder.lastPathComponent.lowercased() == "refrain")
    #if os(Linux)
      let environment = ProcessInfo.processInfo.environment
      let home = URL(filePath: environment["HOME"] ?? "/").appending(path: ".cache")
      let named = environment["XDG_CACHE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
      let expected = (named.map { URL(filePath: $0) } ?? home).appending(path: "refrain")
      #expect(folder.standardizedFileURL.path == expected.standardizedFileURL.path)
    #endif
  }
}
