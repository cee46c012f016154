// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import Testing

  @testable import RefrainCLI

  struct FolderListingTests {
    /// Runs `body` with a new folder that contains files and folders (those end in a slash), and
    /// links.
    private func with(
      _ names: [String], links: [(name: String, target: String)] = [],
      _ body: (URL) async throws -> Void
    ) async throws {
      let folder = FileManager.default.temporaryDirectory
        .appending(path: "refrain-folder-\(UUID().uuidString)", directoryHint: .isDirectory)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      for name in names {
        let url = folder.appending(path: name)
        let parent = name.hasSuffix("/") ? url : url.deletingLastPathComponent()
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        if !name.hasSuffix("/") { try Data("x".utf8).write(to: url) }
      }
      for (name, target) in links {
        try FileManager.default.createSymbolicLink(
          atPath: folder.appending(path: name).path(percentEncoded: false),
          withDestinationPath: target)
      }
      try await body(folder)
    }

    private func names(_ listing: FolderListing, in folder: URL) -> [String] {
      let start = folder.path(percentEncoded: false).count
      return listing.files.map { String($0.path(percentEncoded: false).dropFirst(start)) }
    }

    @Test func `Media files of all folders are listed in the order of their names`() async throws {
      try await with([
        "10.mp3", "2.flac", "CD10/1.ogg", "CD2/b.ogg", "CD2/A #1 100%?.ogg", "cover.jpg",
        "list.m3u",
        ".hidden.mp3", ".git/a.mp3", "empty/", "ü/é.opus", "folder.mp3/inner.wav",
      ]) { folder in
        let listing = try await FolderListing.of(folder)
        #expect(
          names(listing, in: folder) == [
            "2.flac", "10.mp3", "CD2/A #1 100%?.ogg", "CD2/b.ogg", "CD10/1.ogg",
            "folder.mp3/inner.wav", "ü/é.opus",
          ])
        #expect(listing.skipped.isEmpty)
      }
    }

    @Test func `A link to a folder around it ends, and others are followed`() async throws {
      try await with(
        ["a/1.mp3", "b/2.mp3"],
        links: [
          ("a/up", ".."), ("b/other", "../a"), ("self", "self"), ("nothing.mp3", "missing"),
          ("c.mp3", "b/2.mp3"), ("null.mp3", "/dev/null"),
        ]
      ) { folder in
        let listing = try await FolderListing.of(folder)
        #expect(names(listing, in: folder) == ["a/1.mp3", "b/2.mp3", "c.mp3"])
      }
    }

    @Test func `Folders nested too deeply are left out with a message`() async throws {
      let deep = String(repeating: "d/", count: 80)
      try await with(["1.mp3", deep + "2.mp3"]) { folder in
        let listing = try await FolderListing.of(folder)
        #expect(names(listing, in: folder) == ["1.mp3"])
        #expect(listing.skipped.count == 1)
      }
    }

    @Test func `A folder that cannot be read is an error`() async throws {
      let missing = URL(filePath: "/no/such/folder", directoryHint: .isDirectory)
      let error = try await #require(throws: MediaCacheError.self) {
        _ = try await FolderListing.of(missing)
      }
      #expect(!error.remedy.isEmpty)
    }
  }
#endif
