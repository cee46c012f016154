// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain
@testable import RefrainStreams

/// The reasons why a manifest cannot be read. Pure.
struct ManifestFlawTests {
  @Test(
    arguments: [
      ("<?xml version=\"1.0\"?><MPD><Period><BaseURL>http://a.example/da", .isCutOff),
      ("<?xml version=\"1.0\"?>\n<MPD xmlns=\"urn:mpeg", .isCutOff),
      ("<!-- a --><m:MPD><m:Period>", .isCutOff),
      ("<!DOCTYPE MPD [<!ENTITY a \"b\">]><MPD><Period/></MPD>", .hasDeclarations),
      ("<MPD><!ELEMENT a ANY></MPD>", .hasDeclarations),
      ("#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,URI=\"http://a.example/a", .namesNothing),
      ("#EXTM3U\n#EXT-X-VERSION:3\n", .namesNothing),
    ] as [(String, ManifestFlaw)])
  func `A damaged manifest has a reason`(_ text: String, _ flaw: ManifestFlaw) throws {
    #expect(ManifestFlaw(Array(text.utf8)) == flaw)
    let url = try #require(URL(string: "https://user:secret@a.example/a.mpd"))
    let error = flaw.error(at: url)
    #expect(error.code == .invalidResponse && error.reason.hasPrefix("https://a.example/a.mpd "))
    #expect(!error.remedy.isEmpty)
  }

  @Test(arguments: [
    "", "<", "<html></html>", "<!DOCTYPE html><html></html>", "<rss version=\"2.0\">",
    "<!DOCTYPE rss [<!ENTITY a \"b\">]><rss></rss>", "<MPD></MPD>", "<MPD/>",
    "<?xml version=\"1.0\"?><MPD><Period/></MPD>", "#EXTM3U\n", "#EXTM3U\n#EXTINF:1,A\na.mp3\n",
    "#EXTM3U\n#EXT-X-RATING:5\n#EXTINF:1,A\na.mp3\n",
    "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n0.ts\n",
    "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlist.m3u8\n",
  ])
  func `What can be read, or is no manifest, has none`(_ text: String) {
    #expect(ManifestFlaw(Array(text.utf8)) == nil)
  }
}
