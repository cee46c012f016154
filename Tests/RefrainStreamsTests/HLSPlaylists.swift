// SPDX-License-Identifier: MIT
import Foundation

@testable import Refrain
@testable import RefrainStreams

/// The references of an HLS playlist of either kind, with their texts.
struct HLSReferences {
  struct Reference {
    var kind: ManifestReference.Kind
    /// The bytes of the reference, without quotes.
    var range: Range<Int>
    /// The bytes of the whole line, with its ending.
    var line: Range<Int>
    var text: String
  }

  /// In the order of the body, without those that are too long. A body that is no playlist has none.
  var references: [Reference] = []
  var variables: [String: String] = [:]
  var isMultivariant = false

  init(of body: [UInt8], url: URL, imported: [String: String] = [:]) {
    guard var reader = HLSReader(body, url: url, imported: imported) else { return }
    while let line = reader.next() {
      if case .tag(.variant, _) = line.content { isMultivariant = true }
      for (kind, spelling) in line.references {
        guard let text = reader.text(spelling) else { continue }
        references.append(
          Reference(kind: kind, range: spelling.indices, line: line.whole, text: text))
      }
    }
    variables = reader.variables
  }
}

/// Playlists with every tag that matters, and short ways to read them.
enum HLSPlaylists {
  static let url = URL(filePath: "/stream/main.m3u8")

  static let multivariant = """
    #EXTM3U
    #EXT-X-VERSION:11
    #EXT-X-DEFINE:NAME="cdn",VALUE="https://cdn.example/a"
    #EXT-X-CONTENT-STEERING:SERVER-URI="/steering",PATHWAY-ID="CDN-A"
    #EXT-X-SESSION-DATA:DATA-ID="com.example.title",URI="title.json"
    #EXT-X-SESSION-KEY:METHOD=SAMPLE-AES,URI="skd://key",KEYFORMAT="com.apple.streamingkeydelivery"
    #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="aac",NAME="Deutsch, laut",LANGUAGE="de",URI="{$cdn}/de.m3u8"
    #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="aac",NAME="English",LANGUAGE="en",DEFAULT=YES,CHANNELS="6"
    #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="subs",NAME="Deutsch",FORCED=YES,URI="subs.m3u8"
    #EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="cc",NAME="CC",INSTREAM-ID="CC1",AUTOSELECT=YES
    #EXT-X-STREAM-INF:BANDWIDTH=2000000,AVERAGE-BANDWIDTH=1500000,RESOLUTION=1280x720,\
    CODECS="avc1.64001f,mp4a.40.2",FRAME-RATE=29.970,AUDIO="aac",SUBTITLES="subs",\
    CLOSED-CAPTIONS="cc",NAME="720p"
    # the middle one
    {$cdn}/720.m3u8?a=1,2
    #EXT-X-STREAM-INF:BANDWIDTH=5000000,RESOLUTION=1920x1080,AUDIO="aac",CLOSED-CAPTIONS=NONE
    1080.m3u8
    #EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=200000,RESOLUTION=1280x720,URI="iframes.m3u8"

    """

  static let media = """
    #EXTM3U
    #EXT-X-TARGETDURATION:6
    #EXT-X-DEFINE:IMPORT="cdn"
    #EXT-X-PART-INF:PART-TARGET=0.5
    #EXT-X-MEDIA-SEQUENCE:100
    #EXT-X-MAP:URI="{$cdn}/init.mp4",BYTERANGE="720@0"
    #EXT-X-KEY:METHOD=AES-128,URI="key.bin",IV=0x10
    #EXTINF:6.000,One
    #EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00Z
    #EXT-X-BYTERANGE:1000@720
    {$cdn}/all.mp4
    #EXTINF:5.5,
    #EXT-X-BYTERANGE:500
    {$cdn}/all.mp4
    #EXT-X-DATERANGE:ID="ad",CLASS="com.apple.hls.interstitial",START-DATE="2026-01-01T00:00:06Z",\
    X-ASSET-URI="https://ads.example/a.m3u8",X-ASSET-LIST="https://ads.example/list.json"
    #EXT-X-DISCONTINUITY
    #EXT-X-GAP
    #EXT-X-KEY:METHOD=NONE
    #EXTINF:4
    three.mp4
    #EXT-X-PART:DURATION=0.5,URI="four.mp4",BYTERANGE="100@0"
    #EXT-X-PRELOAD-HINT:TYPE=PART,URI="four.mp4",BYTERANGE-START=100
    #EXT-X-RENDITION-REPORT:URI="../audio/main.m3u8",LAST-MSN=103

    """

  static func references(
    _ text: String, url: URL = url, imported: [String: String] = [:]
  ) -> HLSReferences {
    HLSReferences(of: Array(text.utf8), url: url, imported: imported)
  }

  /// Returns the texts of the references.
  static func texts(_ text: String, imported: [String: String] = [:]) -> [String] {
    references(text, imported: imported).references.map(\.text)
  }

  static func multivariant(_ text: String) -> HLSMultivariantPlaylist? {
    HLSMultivariantPlaylist(Array(text.utf8), url: url)
  }

  static func media(_ text: String, imported: [String: String] = [:]) -> HLSMediaPlaylist? {
    HLSMediaPlaylist(Array(text.utf8), url: url, imported: imported)
  }
}
