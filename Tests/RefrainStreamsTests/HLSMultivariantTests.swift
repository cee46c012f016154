// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain
@testable import RefrainStreams

/// Multivariant playlists, whole and filtered.
@Suite struct HLSMultivariantTests {
  private static func lines(_ range: Range<Int>, of text: String) -> String {
    String(decoding: Array(text.utf8)[range], as: UTF8.self)
  }

  @Test func `Every attribute of a variant is read`() throws {
    let text = HLSPlaylists.multivariant
    let playlist = try #require(HLSPlaylists.multivariant(text))
    try #require(playlist.variants.count == 2 && playlist.iFrameVariants.count == 1)
    let variant = playlist.variants[0]
    #expect(variant.uri == "https://cdn.example/a/720.m3u8?a=1,2")
    #expect(variant.bandwidth == 2_000_000 && variant.averageBandwidth == 1_500_000)
    #expect(variant.width == 1280 && variant.height == 720 && variant.frameRate == 29.97)
    #expect(variant.codecs == "avc1.64001f,mp4a.40.2")
    #expect(variant.audioGroup == "aac")
    #expect(variant.groups.map(\.id) == ["aac", "subs"])
    #expect(variant.groups.map(\.type) == [.audio, .subtitles])
    let lines = Self.lines(variant.lines, of: text)
    #expect(lines.hasPrefix("#EXT-X-STREAM-INF:BANDWIDTH=2000000,"))
    #expect(lines.hasSuffix("# the middle one\n{$cdn}/720.m3u8?a=1,2\n"))
    #expect(playlist.variants[1].averageBandwidth == nil && playlist.variants[1].codecs == nil)
    #expect(!variant.isIFrames && playlist.iFrameVariants[0].isIFrames)
    #expect(playlist.iFrameVariants[0].uri == "iframes.m3u8")
    #expect(playlist.variables == ["cdn": "https://cdn.example/a"])
  }

  @Test func `Every attribute of a rendition is read`() throws {
    let text = HLSPlaylists.multivariant
    let renditions = try #require(HLSPlaylists.multivariant(text)).renditions
    #expect(renditions.map(\.type) == [.audio, .audio, .subtitles, .closedCaptions])
    #expect(renditions.map(\.groupID) == ["aac", "aac", "subs", "cc"])
    #expect(renditions.map(\.name) == ["Deutsch, laut", "English", "Deutsch", "CC"])
    #expect(renditions.map(\.language) == ["de", "en", nil, nil])
    #expect(renditions.map(\.isDefault) == [false, true, false, false])
    #expect(renditions.map(\.isAutoselect) == [false, true, false, true])
    #expect(renditions.map(\.isForced) == [false, false, true, false])
    #expect(renditions.map(\.channels) == [nil, "6", nil, nil])
    #expect(
      renditions.map(\.uri) == ["https://cdn.example/a/de.m3u8", nil, "subs.m3u8", nil])
    #expect(Self.lines(renditions[2].lines, of: text).hasSuffix("URI=\"subs.m3u8\"\n"))
  }

  static let others = [
    "#EXTM3U\n#EXTINF:6,\na.ts\n", "#EXTM3U\n", "", "#EXT-X-STREAM-INF:BANDWIDTH=1\na.m3u8\n",
    "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,URI=\"a\"\n", HLSPlaylists.media,
  ]

  @Test(arguments: others)
  func `A body without variants is no multivariant playlist`(text: String) {
    #expect(HLSPlaylists.multivariant(text) == nil)
  }

  @Test func `A playlist from which nothing is excluded stays as it is`() throws {
    let text = HLSPlaylists.multivariant.replacing("\n", with: "\r\n")
    let body = Array(text.utf8)
    let playlist = try #require(HLSMultivariantPlaylist(body, url: HLSPlaylists.url))
    let same = playlist.filtered(
      body, keepingVariant: { _ in true }, keepingRendition: { _ in true })
    #expect(same == body)
  }

  @Test func `Excluded variants and renditions disappear with their lines`() throws {
    let body = Array(HLSPlaylists.multivariant.utf8)
    let playlist = try #require(HLSMultivariantPlaylist(body, url: HLSPlaylists.url))
    let filtered = playlist.filtered(
      body, keepingVariant: { $0.height == 1080 }, keepingRendition: { $0.language == "en" })
    let expected = HLSPlaylists.multivariant.split(separator: "\n").enumerated().filter {
      ![6, 8, 9, 10, 11, 12, 15].contains($0.offset)
    }.map { $0.element + "\n" }.joined()
    #expect(String(decoding: filtered, as: UTF8.self) == expected)
    let again = try #require(HLSMultivariantPlaylist(filtered, url: HLSPlaylists.url))
    #expect(again.variants.map(\.uri) == ["1080.m3u8"] && again.iFrameVariants.isEmpty)
    #expect(again.renditions.map(\.name) == ["English"])
  }

  @Test func `Tags between the lines of an excluded variant remain`() throws {
    let text = """
      #EXTM3U
      #EXT-X-STREAM-INF:BANDWIDTH=1,NAME="lost"
      #EXT-X-STREAM-INF:BANDWIDTH=2
      #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="n"
      # comment
      2.m3u8
      #EXT-X-STREAM-INF:BANDWIDTH=3
      3.m3u8
      """
    let body = Array(text.utf8)
    let playlist = try #require(HLSMultivariantPlaylist(body, url: HLSPlaylists.url))
    #expect(playlist.variants.map(\.bandwidth) == [2, 3])
    func filtered(_ rendition: Bool) -> String {
      let bytes = playlist.filtered(
        body, keepingVariant: { $0.bandwidth == 3 }, keepingRendition: { _ in rendition })
      return String(decoding: bytes, as: UTF8.self)
    }
    let rest = "#EXT-X-STREAM-INF:BANDWIDTH=3\n3.m3u8"
    #expect(filtered(true) == "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"n\"\n\(rest)")
    #expect(filtered(false) == "#EXTM3U\n\(rest)")
  }

  static let numbers: [(String, Int64, Int?)] = [
    ("BANDWIDTH=99999999999999999999,RESOLUTION=99999999999999999999x2", .max, .max),
    ("BANDWIDTH=-1,RESOLUTION=-1x2", 0, nil), ("BANDWIDTH=,RESOLUTION=", 0, nil),
    ("BANDWIDTH=1.5,RESOLUTION=4X3", 1, 4), ("RESOLUTION=x,FRAME-RATE=nan", 0, nil),
    ("BANDWIDTH=x1,RESOLUTION=4x,FRAME-RATE=1e999", 0, nil), ("FRAME-RATE=-inf", 0, nil),
  ]

  @Test(arguments: numbers.indices)
  func `Impossible numbers saturate or are missing`(index: Int) throws {
    let (attributes, bandwidth, width) = Self.numbers[index]
    let text = "#EXTM3U\n#EXT-X-STREAM-INF:\(attributes)\nv.m3u8\n"
    let variant = try #require(HLSPlaylists.multivariant(text)?.variants.first)
    #expect(variant.bandwidth == bandwidth && variant.width == width && variant.frameRate == nil)
  }
}
