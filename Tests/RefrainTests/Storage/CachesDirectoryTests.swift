// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// Where the cache is by default.
struct CachesDirectoryTests {
  @Test(arguments: [
    (["XDG_CACHE_HOME": "/x", "HOME": "/h"], "/x/refrain/"),
    // It has to be absolute.
    (["XDG_CACHE_HOME": "x", "HOME": "/h"], "/h/.cache/refrain/"),
    (["XDG_CACHE_HOME": "", "HOME": "/h"], "/h/.cache/refrain/"),
    ([:], "/home/by/passwd/.cache/refrain/"), (["HOME": ""], "/home/by/passwd/.cache/refrain/"),
  ])
  func `On Linux, the environment sets the directory`(
    _ environment: [String: String], _ expected: String
  ) {
    let url = MediaCache.directoryOnLinux(environment, home: URL(filePath: "/home/by/passwd"))
    #expect(url.path(percentEncoded: false) == expected)
  }

  @Test(arguments: [
    ("org.example.radio", "org.example.radio/Refrain/"), (nil, "Refrain/"), ("", "Refrain/"),
    ("a/../../b", "Refrain/"), ("..", "Refrain/"), ("/", "Refrain/"),
  ])
  func `On a Mac, an app's folder is named after its bundle identifier, if that is safe`(
    _ bundleIdentifier: String?, _ expected: String
  ) {
    let caches = URL(filePath: "/Users/a/Library/Caches", directoryHint: .isDirectory)
    let url = MediaCache.directoryOnMac(caches, bundleIdentifier: bundleIdentifier)
    #expect(url.path(percentEncoded: false) == "/Users/a/Library/Caches/\(expected)")
  }

  @Test func `The default directory is a local folder named Refrain`() {
    let folder = MediaCache.defaultDirectory
    #expect(folder.isFileURL && folder.lastPathComponent.lowercased() == "refrain")
  }
}
