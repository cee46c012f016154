// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import RefrainPlayer

@Suite struct StreamKindTests {
  @Test(arguments: [
    "#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\na.ts", "#EXTM3U\r\n#EXT-X-STREAM-INF:X=1\r\na",
    "\u{FEFF}#EXTM3U\n\n## a comment\n#EXT-X-INDEPENDENT-SEGMENTS\n", "#extm3u\n#ext-x-endlist\n",
  ]) func `A playlist with tags of HLS is a stream`(_ text: String) {
    #expect(StreamKind(beginning: text.utf8) == .hls)
  }

  @Test(arguments: [
    "#EXTM3U\n#EXTINF:123,Artist - Title\nsong.mp3\n", "#EXTM3U\n#EXT-X-SOMETHING-ELSE:1\na.mp3\n",
    "song.mp3\n#EXT-X-ENDLIST\n", "#EXTM3U\n", "",
  ]) func `A list of songs is no stream`(_ text: String) {
    #expect(StreamKind(beginning: text.utf8) == nil)
  }

  @Test(arguments: [
    "<MPD type=\"static\"></MPD>", "<?xml version=\"1.0\"?>\n<!-- <rss> -->\n<MPD>",
    "\u{FEFF}<?xml version=\"1.0\"?><dash:MPD xmlns:dash=\"urn:mpeg:dash:schema:mpd:2011\"/>",
  ]) func `An XML document with the root MPD is a stream`(_ text: String) {
    #expect(StreamKind(beginning: text.utf8) == .dash)
  }

  @Test(arguments: [
    "<playlist><MPD/></playlist>", "<!-- <MPD> -->", "<!-- <MPD>", "<!DOCTYPE html><html>", "<",
    "<MPDX>", "text <MPD>",
  ]) func `Any other XML document is no stream`(_ text: String) {
    #expect(StreamKind(beginning: text.utf8) == nil)
  }

  @Test func `Bytes of media are no stream`() {
    #expect(StreamKind(beginning: SilentMP3.frames(100)) == nil)
  }
}
