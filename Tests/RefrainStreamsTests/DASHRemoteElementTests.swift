// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain
@testable import RefrainStreams

/// Elements of an MPD that are documents of their own.
@Suite struct DASHRemoteElementTests {
  private static func references(of text: String) -> [DASHReference]? {
    DASHReferences(of: Array(text.utf8), url: mpdURL)?.references
  }

  /// Documents that replace elements with `xlink:href`, and the references in them.
  static let remotes: [(String, [String])] = [
    ("<Period><BaseURL>/a/</BaseURL></Period>", ["/a/"]),
    (
      "<Period id='1'><BaseURL>/a/</BaseURL></Period>\n<!-- two -->"
        + "<Period id='2'><BaseURL>/b/</BaseURL></Period>",
      ["/a/", "/b/"]
    ),
    (
      "<AdaptationSet><SegmentTemplate media='/$Number$'/><Representation/></AdaptationSet>",
      ["/$Number$"]
    ),
    ("<d:SegmentList xmlns:d='urn:x'><d:SegmentURL media='/1'/></d:SegmentList>", ["/1"]),
    ("<InitializationSet initialization='/i'/>", ["/i"]),
  ]

  @Test(arguments: remotes.indices)
  func `The references of a part of an MPD are found`(index: Int) throws {
    let (text, texts) = Self.remotes[index]
    for start in ["", "<?xml version='1.0' encoding='utf-8'?>\n"] {
      let found = try #require(Self.references(of: start + text))
      #expect(found.map(\.reference.text) == texts)
      #expect(found.map(\.resolved) == texts.map { "https://a.example" + $0 })
    }
  }
}
