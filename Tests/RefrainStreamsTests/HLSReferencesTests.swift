// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain
@testable import RefrainStreams

/// The references of HLS playlists.
@Suite struct HLSReferencesTests {
  typealias Kind = ManifestReference.Kind

  static let tags: [(String, [(Kind, String)])] = [
    ("#EXTINF:6,\na.ts", [(.segment, "a.ts")]),
    ("a.ts", [(.segment, "a.ts")]),
    ("#EXT-X-STREAM-INF:BANDWIDTH=1\nv.m3u8", [(.playlist, "v.m3u8")]),
    ("#EXT-X-MEDIA:TYPE=AUDIO,URI=\"a.m3u8\"", [(.playlist, "a.m3u8")]),
    ("#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,INSTREAM-ID=\"CC1\"", []),
    ("#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,URI=\"i.m3u8\"", [(.playlist, "i.m3u8")]),
    ("#EXT-X-KEY:METHOD=AES-128,URI=\"k\",IV=0x1", [(.key, "k")]),
    ("#EXT-X-KEY:METHOD=NONE", []),
    ("#EXT-X-SESSION-KEY:METHOD=SAMPLE-AES,URI=\"skd://k\"", [(.key, "skd://k")]),
    ("#EXT-X-MAP:URI=\"i.mp4\",BYTERANGE=\"7@0\"", [(.initialization, "i.mp4")]),
    ("#EXT-X-SESSION-DATA:DATA-ID=\"d\",URI=\"d.json\"", [(.data, "d.json")]),
    ("#EXT-X-PART:DURATION=1,URI=\"p.mp4\"", [(.part, "p.mp4")]),
    ("#EXT-X-PRELOAD-HINT:TYPE=MAP,URI=\"h.mp4\"", [(.preloadHint, "h.mp4")]),
    ("#EXT-X-RENDITION-REPORT:URI=\"r.m3u8\"", [(.renditionReport, "r.m3u8")]),
    ("#EXT-X-CONTENT-STEERING:SERVER-URI=\"s\"", [(.steering, "s")]),
    ("#EXT-X-CONTENT-STEERING:URI=\"s\"", []),
    ("#EXT-X-MEDIA:SERVER-URI=\"s\",X-URI=\"t\",URI-X=\"u\",uri=\"v\"", []),
    (
      "#EXT-X-DATERANGE:ID=\"x\",URI=\"no\",X-ASSET-LIST=\"l\",X-ASSET-URI=\"u\"",
      [(.interstitial, "l"), (.interstitial, "u")]
    ),
    ("#EXT-X-VENDOR:URI=\"a\"\n# URI=\"b\"\n#EXT-X-MEDIAN:URI=\"c\"", []),
    ("#EXT-X-KEY", []), ("#EXT-X-KEY:", []), ("#EXT-X-MAP:URI=\"\"", []), ("#", []),
    // Players choose differently between two attributes of one name.
    ("#EXT-X-MAP:URI=\"a\",URI=\"b\"", [(.initialization, "a"), (.initialization, "b")]),
    // Players follow a URI without quotes too.
    ("#EXT-X-MAP:URI= a.mp4 ,BYTERANGE=\"7@0\"", [(.initialization, "a.mp4")]),
  ]

  @Test(arguments: tags.indices)
  func `Every tag has its references`(index: Int) {
    let (text, expected) = Self.tags[index]
    for end in ["", "\n", "\r\n", "\r"] {
      let lines = "#EXTM3U\n\(text)".replacing("\n", with: end.isEmpty ? "\n" : end) + end
      let found = HLSPlaylists.references(lines).references
      #expect(found.map(\.kind) == expected.map(\.0), "\(lines.debugDescription)")
      #expect(found.map(\.text) == expected.map(\.1), "\(lines.debugDescription)")
    }
  }

  static let beginnings: [(String, Bool)] = [
    ("#EXTM3U\n", true), ("\u{FEFF}#EXTM3U\n", true), ("\u{FEFF}#EXTM3U\r\n", true),
    ("#EXTM3U \n", true), ("#EXTM3U url-tvg=\"x\"\n", true), ("#EXTM3U8\n", true),
    ("\n \r\n#EXTM3U\n", true), ("#EXTM3\n", false), ("EXTM3U\n", false), ("", false),
    ("#extm3u\n", false), ("a\n#EXTM3U\n", false), ("\u{FEFF}\u{FEFF}#EXTM3U\n", false),
    ("#EXTINF:1,\n", false),
  ]

  @Test(arguments: beginnings.indices)
  func `Only a body that begins like a playlist has references`(index: Int) {
    let (beginning, isPlaylist) = Self.beginnings[index]
    let texts = HLSPlaylists.texts(beginning + "#EXTINF:1,\na.ts\n")
    #expect(texts == (isPlaylist ? ["a.ts"] : []), "\(beginning.debugDescription)")
  }

  @Test func `The bytes of a reference and of its line are exact`() throws {
    let text = "\u{FEFF}#EXTM3U\r\n\r\n \t é.ts?a=\"1\" \t\r\n#EXT-X-MAP: URI = \"i,=.mp4\" , X=1\n"
    let body = Array(text.utf8)
    let found = HLSPlaylists.references(text).references
    func string(_ range: Range<Int>) -> String { String(decoding: body[range], as: UTF8.self) }
    try #require(found.count == 2)
    #expect(string(found[0].range) == "é.ts?a=\"1\"" && found[0].text == "é.ts?a=\"1\"")
    #expect(string(found[0].line) == " \t é.ts?a=\"1\" \t\r\n")
    #expect(string(found[1].range) == "i,=.mp4" && found[1].text == "i,=.mp4")
    #expect(string(found[1].line) == "#EXT-X-MAP: URI = \"i,=.mp4\" , X=1\n")
  }

  @Test func `Tags may stand between a description and its URI`() {
    let found = HLSPlaylists.references(
      """
      #EXTM3U
      #EXT-X-STREAM-INF:BANDWIDTH=1
      #EXT-X-MEDIA:TYPE=AUDIO,URI="a.m3u8"

      # comment
      v.m3u8
      #EXTINF:6,
      #EXT-X-BYTERANGE:10@0
      #EXT-X-KEY:METHOD=AES-128,URI="k"
      s.ts
      """)
    #expect(found.references.map(\.kind) == [.playlist, .playlist, .key, .segment])
    #expect(found.references.map(\.text) == ["a.m3u8", "v.m3u8", "k", "s.ts"])
    #expect(found.isMultivariant)
  }

  @Test func `The references of complete playlists are found in order`() {
    let multivariant = HLSPlaylists.references(HLSPlaylists.multivariant)
    #expect(
      multivariant.references.map(\.text) == [
        "/steering", "title.json", "skd://key", "https://cdn.example/a/de.m3u8", "subs.m3u8",
        "https://cdn.example/a/720.m3u8?a=1,2", "1080.m3u8", "iframes.m3u8",
      ])
    #expect(multivariant.variables == ["cdn": "https://cdn.example/a"])
    #expect(multivariant.isMultivariant)
    let media = HLSPlaylists.references(HLSPlaylists.media, imported: multivariant.variables)
    #expect(
      media.references.map(\.text) == [
        "https://cdn.example/a/init.mp4", "key.bin", "https://cdn.example/a/all.mp4",
        "https://cdn.example/a/all.mp4", "https://ads.example/a.m3u8",
        "https://ads.example/list.json", "three.mp4", "four.mp4", "four.mp4", "../audio/main.m3u8",
      ])
    #expect(media.variables == multivariant.variables && !media.isMultivariant)
  }

  @Test func `A line that does not begin in UTF-8 keeps its bytes in percent-encoding`() {
    let body = Array("#EXTM3U\n".utf8) + [0xE9] + Array(".ts\n".utf8)
    let found = HLSReferences(of: body, url: HLSPlaylists.url).references
    #expect(found.map(\.text) == ["%E9.ts"] && found.map(\.range) == [8..<12])
  }
}
