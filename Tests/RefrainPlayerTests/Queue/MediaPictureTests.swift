// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainPlayer

/// Where the picture of a media is.
struct MediaPictureTests {
  private func withFolder(_ body: (URL) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory
      .appending(path: "refrain-picture-\(UUID().uuidString)", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder)
  }

  private func picture(of media: Media) async -> String? {
    await MediaPicture(of: media)?.url()?.lastPathComponent
  }

  @Test func `A local file has the picture of its folder`() async throws {
    try await withFolder { folder in
      let song = Media(folder.appending(path: "1 - Söng.mp3"))
      #expect(await picture(of: song) == nil)
      for name in ["Folder.jpg", "folder.jpg", "cover.jpg"] {
        try Data([0xFF, 0xD8, 0xFF]).write(to: folder.appending(path: name))
        #expect(await picture(of: song)?.lowercased() == name.lowercased())
      }
    }
  }

  @Test func `A folder with the name of a picture is none`() async throws {
    try await withFolder { folder in
      try FileManager.default.createDirectory(
        at: folder.appending(path: "cover.jpg"), withIntermediateDirectories: false)
      #expect(await picture(of: Media(folder.appending(path: "song.mp3"))) == nil)
    }
  }

  @Test func `A stated picture comes first`() async throws {
    try await withFolder { folder in
      try Data([1]).write(to: folder.appending(path: "cover.jpg"))
      var song = Media(folder.appending(path: "song.mp3"))
      song.artwork = URL(string: "https://a.example/list.png")
      #expect(await picture(of: song) == "list.png")
    }
  }

  @Test func `Files of one folder share its picture`() {
    let songs = ["a", "b"].map { Media(URL(filePath: "/music/album/\($0).mp3")) }
    #expect(MediaPicture(of: songs[0]) == MediaPicture(of: songs[1]))
    let other = Media(URL(filePath: "/music/other/a.mp3"))
    #expect(MediaPicture(of: other) != MediaPicture(of: songs[0]))
  }

  @Test func `A media on the network has only a stated picture`() throws {
    let url = try #require(URL(string: "https://a.example/song.mp3"))
    #expect(MediaPicture(of: Media(url)) == nil)
  }
}
