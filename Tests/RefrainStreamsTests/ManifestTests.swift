// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain
@testable import RefrainStreams

/// The update interval that a manifest declares.
@Suite struct ManifestTests {
  private static let licence = "<!--" + String(repeating: "<MPD ", count: 2000) + "-->"

  static let cases: [(String, UpdatePace?)] = [
    ("#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\na.ts\n", .every(6)),
    ("\u{FEFF}#EXTM3U\r\n#EXT-X-TARGETDURATION:6\r\n#EXTINF:6,\r\na.ts\r\n", .every(6)),
    ("#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\na.ts\n#EXT-X-ENDLIST\n", .complete),
    ("#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\na.ts\n#EXT-X-ENDLIST", .complete),
    ("#EXTM3U\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-TARGETDURATION:6\n", .complete),
    ("#EXTM3U\n#EXT-X-PLAYLIST-TYPE:EVENT\n#EXT-X-TARGETDURATION:4\n", .every(4)),
    ("#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-PART-INF:PART-TARGET=0.5\n", .every(0.5)),
    ("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\na.m3u8\n", .unstated),
    ("#EXTM3U\n#EXTINF:200,Song\na.mp3\n", .unstated),
    ("#EXTM3U\n#EXT-X-TARGETDURATION:many\n", .unstated),
    ("<?xml version=\"1.0\"?>\n<MPD type=\"static\" minBufferTime=\"PT2S\">", .complete),
    ("<MPD minBufferTime=\"PT2S\">", .complete),
    ("<MPD type=\"dynamic\" minimumUpdatePeriod=\"PT1M2.5S\">", .every(62.5)),
    ("<MPD\n type='dynamic'\n minimumUpdatePeriod='PT0S'>", .every(0)),
    ("<MPD type=\"dynamic\" maxSegmentDuration=\"PT4S\">", .every(4)),
    ("<MPD type=\"dynamic\" xtype=\"static\">", .every(2)),
    ("<MPD xtype=\"dynamic\">", .complete),
    // As the parsers read them.
    (" \n#EXTM3U\n#EXT-X-TARGETDURATION:6\n", .every(6)),
    ("#EXTM3U\n#EXT-X-TARGETDURATION:6 \n#EXTINF:6,\na.ts\n#EXT-X-ENDLIST \n", .complete),
    ("#EXTM3U\r#EXT-X-PLAYLIST-TYPE:VOD\t\r#EXT-X-TARGETDURATION:6\r", .complete),
    ("#EXTM3U\n#EXT-X-PART-INF: PART-TARGET=0.5 , X=1\n", .every(0.5)),
    ("<x:MPD xmlns:x=\"urn:mpeg:dash:schema:mpd:2011\" type=\"dynamic\">", .every(2)),
    ("<?xml version=\"1.0\"?>\(licence)<MPD type=\"dynamic\">", .every(2)),
    ("<MPD type = \"dynamic\" minimumUpdatePeriod\n=\n' PT5S '>", .every(5)),
    ("<!-- <MPD type=\"dynamic\"> --><MPD type=\"static\">", .complete),
    ("<html><MPD type=\"dynamic\">", nil),
    ("<MPDX type=\"dynamic\">", nil), ("<html>", nil), ("", nil), ("EXTM3U", nil),
  ]

  @Test(arguments: cases.indices)
  func `The update pace of a manifest is read from its content`(index: Int) {
    let (text, pace) = Self.cases[index]
    #expect(Manifest.pace(of: Data(text.utf8)) == pace, "\(text.debugDescription)")
  }

  @Test func `A manifest may begin with a comment or the prefix of a namespace`() {
    for text in [
      "#EXTM3U", "\u{FEFF} #EXTM3U\n", "<?xml version", "<!-- (c) -->", "<MPD>", "<x:MPD ",
      "<Period/>",
    ] {
      #expect(Manifest.mayBegin(with: Data(text.utf8)), "\(text)")
    }
    for text in ["", "<", "<html>", "<!DOCTYPE html>", "<svg:svg", "#EXT", "MPD"] {
      #expect(!Manifest.mayBegin(with: Data(text.utf8)), "\(text)")
    }
  }

  @Test func `A manifest may take long if it is long or has variables`() {
    #expect(!Manifest.mayTakeLong(Array("#EXTM3U\n{a}.ts\n{".utf8)))
    #expect(Manifest.mayTakeLong(Array("#EXTM3U\n{$a}.ts\n".utf8)))
    #expect(Manifest.mayTakeLong(Array(repeating: 0x61, count: 70_000)))
  }

  @Test func `A manifest is fresh for half a period and usable for one and a half`() {
    let now = Date(timeIntervalSince1970: 1_700_000_000)
    var freshness = Freshness(confirmedAt: now, lifetime: 600)
    freshness.pace = .every(6)
    #expect(freshness.isFresh(at: now + 2.9) && !freshness.isFresh(at: now + 3))
    let terms = ReadTerms()
    #expect(terms.acceptUnconfirmed(freshness, at: now + 9))
    #expect(!terms.acceptUnconfirmed(freshness, at: now + 9.1))
    freshness.pace = .complete
    #expect(freshness.isFresh(at: now + 599) && terms.acceptUnconfirmed(freshness, at: now + 9999))
    // For requests that come while its bytes arrive.
    freshness.pace = .unread
    #expect(freshness.isFresh(at: now + 0.4) && !freshness.isFresh(at: now + 0.5))
    freshness = Freshness(confirmedAt: now, lifetime: 1)
    freshness.pace = .every(6)
    #expect(!freshness.isFresh(at: now + 1))
  }

  @Test func `A manifest is recognized by its type or its file name`() throws {
    let plain = try #require(URL(string: "https://a.example/x"))
    let named = try #require(URL(string: "https://a.example/x.M3U8?y=1"))
    #expect(Manifest.isNamed(mimeType: "application/dash+xml", url: plain))
    #expect(Manifest.isNamed(mimeType: "text/plain", url: named))
    #expect(!Manifest.isNamed(mimeType: "text/plain", url: plain))
  }
}
