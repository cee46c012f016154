// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain
@testable import RefrainStreams

/// Media playlists: segments with their ranges, keys and initializations.
@Suite struct HLSMediaPlaylistTests {
  @Test func `Every tag of a media playlist is followed`() throws {
    let playlist = try #require(
      HLSPlaylists.media(HLSPlaylists.media, imported: ["cdn": "https://cdn.example/a"]))
    let segments = playlist.segments
    let whole = "https://cdn.example/a/all.mp4"
    #expect(segments.map(\.uri) == [whole, whole, "three.mp4"])
    #expect(segments.map(\.duration) == [6, 5.5, 4] && playlist.totalDuration == 15.5)
    #expect(segments.map(\.byteRange) == [720..<1720, 1720..<2220, nil])
    #expect(segments.map(\.isGap) == [false, false, true])
    #expect(segments.map(\.sequence) == [100, 101, 102] && playlist.mediaSequence == 100)
    #expect(segments.map(\.keys) == [[0], [0], []] && segments.map(\.map) == [0, 0, 0])
    #expect(
      playlist.keys == [HLSKey(method: "AES-128", uri: "key.bin", keyFormat: "identity")])
    #expect(
      playlist.maps == [
        HLSMediaPlaylist.Map(uri: "https://cdn.example/a/init.mp4", byteRange: 0..<720)
      ])
    #expect(playlist.targetDuration == 6 && !playlist.isEnded && playlist.type == nil)
  }

  static let kinds: [(String, HLSMediaPlaylist.PlaylistType?, Bool)] = [
    ("", nil, false), ("#EXT-X-ENDLIST\n", nil, true), ("#EXT-X-ENDLIST \r\n", nil, true),
    ("#EXT-X-PLAYLIST-TYPE:VOD\n", .vod, false), ("#EXT-X-PLAYLIST-TYPE:EVENT\n", .event, false),
    ("#EXT-X-PLAYLIST-TYPE:VODKA\n#EXT-X-ENDLISTS\n", nil, false),
  ]

  @Test(arguments: kinds.indices)
  func `The type and the end of a playlist are read`(index: Int) throws {
    let (tags, type, isEnded) = Self.kinds[index]
    let playlist = try #require(HLSPlaylists.media("#EXTM3U\n#EXT-X-TARGETDURATION:6\n\(tags)"))
    #expect(playlist.type == type && playlist.isEnded == isEnded)
    #expect(playlist.segments.isEmpty)
  }

  static let others = [
    "", "#EXTM3U\n", "#EXTM3U\n#EXTINF:200,Song\na.mp3\n", "#EXT-X-TARGETDURATION:6\n",
    "#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXT-X-STREAM-INF:BANDWIDTH=1\nv.m3u8\n",
    HLSPlaylists.multivariant,
  ]

  @Test(arguments: others)
  func `A list of songs or of variants is no media playlist`(text: String) {
    #expect(HLSPlaylists.media(text) == nil)
  }

  static let ranges: [(String, [ByteRange?])] = [
    ("5@10", [10..<15]), ("5", [0..<5]), ("5@10\n5\n5", [10..<15, 15..<20, 20..<25]),
    // Another resource, or a whole one, ends the sequence.
    ("5@10 b\n5 a", [10..<15, 0..<5]), ("5@10\n- a\n5", [10..<15, nil, 0..<5]),
    ("0@10", [nil]), ("-5@10", [nil]), ("5@-1", [nil]), ("5@", [nil]), ("x", [nil]), ("", [nil]),
    ("9223372036854775807@1", [nil]), ("1@99999999999999999999", [nil]),
    ("9223372036854775806@0\n1", [0..<9_223_372_036_854_775_806, nil]),
  ]

  @Test(arguments: ranges.indices)
  func `A byte range without an offset continues the previous one`(index: Int) throws {
    let (list, expected) = Self.ranges[index]
    var text = "#EXTM3U\n#EXT-X-TARGETDURATION:6\n"
    for line in list.split(separator: "\n", omittingEmptySubsequences: false) {
      let parts = line.split(separator: " ")
      let range = parts.first ?? ""
      text += range == "-" ? "#EXTINF:1,\n" : "#EXTINF:1,\n#EXT-X-BYTERANGE:\(range)\n"
      text += "\(parts.count > 1 ? parts[1] : "a")\n"
    }
    #expect(try #require(HLSPlaylists.media(text)).segments.map(\.byteRange) == expected, "\(list)")
  }

  static let durations: [(String, Double)] = [
    ("6", 6), ("6.5,Title, more", 6.5), (" 6 ,", 6), ("-1 tvg-id=\"x\",TV", 0), ("", 0), ("x", 0),
    ("nan", 0), ("inf", 0), ("1e999", 0), ("-6", 0), ("1e300", 2_147_483_648),
    (String(repeating: "9", count: 1000), 0),
  ]

  @Test(arguments: durations.indices)
  func `A duration is finite and not negative`(index: Int) throws {
    let (text, duration) = Self.durations[index]
    let playlist = try #require(
      HLSPlaylists.media("#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-ENDLIST\n#EXTINF:\(text)\na\n"))
    #expect(playlist.segments.map(\.duration) == [duration], "\(text)")
    #expect(playlist.totalDuration == duration && playlist.targetDuration == duration)
  }

  @Test func `Sequence numbers saturate and count skipped segments`() throws {
    let segments = "#EXTINF:1,\na\n#EXTINF:1,\nb\n"
    let head = "#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:"
    let huge = try #require(HLSPlaylists.media("\(head)99999999999999999999\n\(segments)"))
    #expect(huge.segments.map(\.sequence) == [.max, .max])
    let negative = try #require(HLSPlaylists.media("\(head)-5\n\(segments)"))
    #expect(negative.segments.map(\.sequence) == [0, 1])
    let skip = "#EXT-X-SKIP:SKIPPED-SEGMENTS=10\n"
    let delta = try #require(HLSPlaylists.media("\(head)7\n\(skip)\(segments)"))
    #expect(delta.segments.map(\.sequence) == [17, 18] && delta.skippedSegments == 10)
    #expect(delta.mediaSequence == 7)
  }

  @Test func `A key applies until one of the same format or none follows`() throws {
    let text = """
      #EXTM3U
      #EXT-X-TARGETDURATION:1
      #EXTINF:1,
      0
      #EXT-X-KEY:METHOD=SAMPLE-AES,URI="a"
      #EXT-X-KEY:METHOD=SAMPLE-AES,URI="skd://a",KEYFORMAT="com.apple.streamingkeydelivery"
      #EXTINF:1,
      1
      #EXT-X-KEY:METHOD=SAMPLE-AES,URI="b",KEYFORMAT="identity"
      #EXTINF:1,
      2
      #EXT-X-KEY:METHOD=SAMPLE-AES,URI="a"
      #EXTINF:1,
      3
      #EXT-X-KEY:METHOD=NONE
      #EXTINF:1,
      4
      """
    let playlist = try #require(HLSPlaylists.media(text))
    #expect(playlist.keys.map(\.uri) == ["a", "skd://a", "b"])
    #expect(playlist.segments.map { Set($0.keys) } == [[], [0, 1], [1, 2], [0, 1], []])
  }

  @Test func `Repeated initializations are one`() throws {
    let text = """
      #EXTM3U
      #EXTINF:1,
      0
      #EXT-X-MAP:URI="a"
      #EXTINF:1,
      1
      #EXT-X-MAP:URI="a",BYTERANGE="5@5"
      #EXTINF:1,
      2
      #EXT-X-MAP:URI="a"
      #EXTINF:1,
      3
      """
    let playlist = try #require(HLSPlaylists.media(text))
    #expect(playlist.segments.map(\.map) == [nil, 0, 1, 0])
    #expect(playlist.maps.map(\.byteRange) == [nil, 5..<10])
  }

  @Test func `A URI without a duration is no segment`() throws {
    let text = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-GAP\na\n#EXTINF:1,\nb\nc\n"
    let playlist = try #require(HLSPlaylists.media(text))
    #expect(playlist.segments.map(\.uri) == ["b"] && playlist.segments.map(\.isGap) == [false])
  }
}
