// SPDX-License-Identifier: MIT
import TestSupport
import Testing

@testable import RefrainPlayer

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
