// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain
@testable import RefrainStreams

/// Manifests that only their first bytes show.
@Suite struct ManifestContentTests {
  @Test func `Only a type that states nothing or too little leaves the content to decide`() {
    for type in [
      nil, "application/octet-stream", "binary/octet-stream", "application/force-download",
      "text/plain", "text/html", "text/xml", "application/xml", "application/json",
    ] {
      #expect(Manifest.mayBeUnnamed(mimeType: type, length: nil))
      #expect(Manifest.mayBeUnnamed(mimeType: type, length: 4 << 20))
      #expect(!Manifest.mayBeUnnamed(mimeType: type, length: 4 << 20 + 1))
    }
    for type in ["video/mp4", "video/mp2t", "audio/mpeg", "text/vtt", "text/event-stream"] {
      #expect(!Manifest.mayBeUnnamed(mimeType: type, length: 100), "\(type)")
    }
  }

  @Test(arguments: [
    "#EXTM3U\n#EXT-X-TARGETDURATION:6\n", "\u{FEFF} \r\n#EXTM3U\r\n#EXT-X-ENDLIST\r\n",
    "#EXTM3U\n#EXTINF:2,\n/s0.ts\n#EXT-X-ENDLIST", "<MPD type=\"static\">",
    "<?xml version=\"1.0\"?>\n<!-- <html> -->\n<x:MPD xmlns:x=\"urn:mpeg:dash:schema:mpd:2011\">",
  ])
  func `A manifest is recognized as soon as enough of it has arrived`(_ text: String) {
    let bytes = Array(text.utf8)
    #expect(Manifest.isBeginning(bytes, isWhole: true) == true)
    #expect(Manifest.isBeginning(bytes, isWhole: false) == true)
    // No shorter beginning is taken for anything else.
    for count in bytes.indices {
      #expect(Manifest.isBeginning(Array(bytes.prefix(count)), isWhole: false) != false)
    }
  }

  @Test(arguments: [
    "#EXTM3U\nsong.mp3\n", "#EXTM3U\n#EXTINF:200,Song\nhttp://a.example/song.mp3\n", "#EXTM3U",
    "#EXTM3", "", " ", "\u{FEFF}", "<", "<!DOCTYPE", "<?xml version=\"1.0\"?>",
  ])
  func `A list of songs, and a body that ends too early, is no manifest`(_ text: String) {
    #expect(Manifest.isBeginning(Array(text.utf8), isWhole: true) == false)
    #expect(Manifest.isBeginning(Array(text.utf8), isWhole: false) == nil)
  }

  @Test(arguments: [
    "G", "ID3", "\0\0\0 ftyp", "#!/bin/sh", "# text", "<html>", "<svg:svg>", "{}",
    "\n<!DOCTYPE html>",
  ])
  func `The first bytes of other content are enough`(_ text: String) {
    #expect(Manifest.isBeginning(Array(text.utf8), isWhole: false) == false)
  }

  @Test func `A tag of HLS behind the beginning does not count`() {
    let songs = String(repeating: "#EXTINF:200,Song\nsong.mp3\n", count: 1000)
    let list = Array("#EXTM3U\n\(songs)#EXT-X-ENDLIST\n".utf8)
    let beginning = Array(list.prefix(Manifest.longestBeginning))
    #expect(Manifest.isBeginning(beginning, isWhole: false) == false)
  }
}
