// SPDX-License-Identifier: MIT
import Foundation
import TestSupport
import Testing

@testable import Refrain
@testable import RefrainStreams

/// Manifests as documents of a cache.
@Suite struct StreamDocumentsTests {
  @Test(
    arguments: [
      ("application/dash+xml", "https://h/a", "mpd"),
      ("application/x-mpegURL", "https://h/a", "m3u8"),
    ])
  func `The extension of a stored file follows from its type`(
    _ type: String, _ url: String, _ expected: String
  ) throws {
    let ending = MediaType.fileExtension(
      mimeType: type, url: try #require(URL(string: url)),
      documents: ResourcePolicy.streams.documents)
    #expect(ending == expected)
  }

  @Test func `No value of a list makes its pace trap`() {
    var generator = SeededGenerator(seed: 7)
    let grains = [
      "P", "T", "1", "9", "18446744073709551616", ".", "-", "S", "H", "\"", "<", ">", "&#0;", "\n",
      "\u{0}", "é", ",", "#EXT-X-ENDLIST", "#EXT-X-PART-INF:PART-TARGET=",
    ]
    for _ in 0..<1500 {
      let count = Int.random(in: 0...8, using: &generator)
      let text = (0..<count).map { _ in grains.randomElement(using: &generator) ?? "" }.joined()
      _ = Manifest.pace(of: Data(text.utf8))
      _ = Manifest.pace(of: Data(("#EXTM3U\n#EXT-X-TARGETDURATION:" + text).utf8))
      _ = Manifest.pace(of: Data("<MPD type=\"dynamic\" minimumUpdatePeriod=\"P\(text)\">".utf8))
    }
  }
}
