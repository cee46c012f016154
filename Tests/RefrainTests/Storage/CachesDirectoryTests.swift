// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

struct CachesDirectoryTests {
  private func path(_ url: URL) -> String { url.path(percentEncoded: false) }

  private func onLinux(_ environment: [String: String]) -> String {
    path(CachesDirectory.onLinux(environment) { URL(filePath: "/home/by/passwd") })
  }

  private func onMac(_ bundleIdentifier: String?) -> String {
    let caches = URL(filePath: "/Users/a/Library/Caches", directoryHint: .isDirectory)
    return path(CachesDirectory.onMac(caches: caches, bundleIdentifier: bundleIdentifier))
  }

  @Test func `On Linux, the XDG cache variable sets the directory`() {
    #expect(onLinux(["XDG_CACHE_HOME": "/x", "HOME": "/h"]) == "/x/refrain/")
  }

  @Test func `On Linux, a relative or empty XDG cache variable is ignored`() {
    #expect(onLinux(["XDG_CACHE_HOME": "x", "HOME": "/h"]) == "/h/.cache/refrain/")
    #expect(onLinux(["XDG_CACHE_HOME": "", "HOME": "/h"]) == "/h/.cache/refrain/")
  }

  @Test func `On Linux, a fallback home folder replaces a missing or empty HOME`() {
    #expect(onLinux([:]) == "/home/by/passwd/.cache/refrain/")
    #expect(onLinux(["HOME": ""]) == "/home/by/passwd/.cache/refrain/")
  }

  @Test func `On a Mac, an app's folder is named after its bundle identifier`() {
    #expect(onMac("org.example.radio") == "/Users/a/Library/Caches/org.example.radio/Refrain/")
  }

  @Test func `On a Mac, programs without a bundle identifier share one folder`() {
    #expect(onMac(nil) == "/Users/a/Library/Caches/Refrain/")
    #expect(onMac("") == "/Users/a/Library/Caches/Refrain/")
  }

  @Test func `An unsafe bundle identifier falls back to the shared folder`() {
    for strange in ["a/../../b", "..", "/"] {
      #expect(onMac(strange) == "/Users/a/Library/Caches/Refrain/")
    }
  }

  /// Never called: a test must not create files in the home of its user.
  private let cacheWithoutArguments: () throws -> MediaCache = { try MediaCache() }

  @Test func `The default directory is a local folder named Refrain`() {
    let folder = MediaCache.defaultDirectory
    #expect(folder.isFileURL)
    #expect(folder.lastPathComponent.lowercased() == "refrain")
  }
}
