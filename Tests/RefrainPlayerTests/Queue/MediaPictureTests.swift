// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import TestSupport
import Testing

@testable import RefrainPlayer

/// Where the picture of a media is.
@MainActor
struct MediaPictureTests {
  private func picture(of media: Media) async -> String? {
    await MediaPicture(of: media)?.url()?.lastPathComponent
  }

  @Test func `A local file has the picture of its folder`() async throws {
    try await withDirectory { folder in
      let song = Media(folder.appending(path: "1 - Söng.mp3"))
      #expect(await picture(of: song) == nil)
      for name in ["Folder.jpg", "folder.jpg", "cover.jpg"] {
        try Data([0xFF, 0xD8, 0xFF]).write(to: folder.appending(path: name))
        #expect(await picture(of: song)?.lowercased() == name.lowercased())
      }
    }
  }

  @Test func `A folder with the name of a picture is none`() async throws {
    try await withDirectory { folder in
      try FileManager.default.createDirectory(
        at: folder.appending(path: "cover.jpg"), withIntermediateDirectories: false)
      #expect(await picture(of: Media(folder.appending(path: "song.mp3"))) == nil)
    }
  }

  @Test func `A stated picture comes first`() async throws {
    try await withDirectory { folder in
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

/// Which files of a folder are media, and their order.
struct MediaFilesTests {
  @Test func `A name of media has the extension of media`() {
    for name in ["a.mp3", "A.FLAC", "a.b.mkv", "..mp3", "ü.opus"] {
      #expect(MediaFiles.isMedia(name), "\(name)")
    }
    for name in ["a", "mp3", ".mp3", "a.mp3 ", "a.txt", "cover.jpg", "a.m3u", "a.", ""] {
      #expect(!MediaFiles.isMedia(name), "\(name)")
    }
  }

  @Test func `Names are in the order of their numbers and letters`() {
    let names = [
      "1 a", "01 b", "2", "10", "CD1", "cd1 b", "CD2", "cd10", "Disc 9", "disc 11", "x1y2", "x1y10",
      "x01y11", "x99999999999999999999998", "x99999999999999999999999", "z", "Ä", "ü",
    ]
    let seed = TestSeed.next()
    print("MediaFilesTests: REFRAIN_SEED=\(seed)")
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<20 {
      #expect(names.shuffled(using: &generator).sorted(by: MediaFiles.isInOrder) == names)
    }
    for name in names { #expect(!MediaFiles.isInOrder(name, name)) }
  }
}
