// SPDX-License-Identifier: MIT
import TestSupport
import Testing

@testable import Refrain
@testable import RefrainStreams

/// Any bytes: nothing traps, and every range stays within the body.
@Suite(.timeLimit(.minutes(TestSeed.minutes(2)))) struct HLSHostileTests {
  private static func check(_ body: [UInt8], _ seed: UInt64? = nil) {
    let found = HLSReferences(
      of: body, url: HLSPlaylists.url, imported: ["cdn": "https://cdn.example"])
    var position = 0
    var isConsistent = true
    for reference in found.references {
      isConsistent =
        isConsistent && reference.range.lowerBound >= position && !reference.range.isEmpty
        && reference.line.lowerBound <= reference.range.lowerBound
        && reference.range.upperBound <= reference.line.upperBound
        && reference.line.upperBound <= body.count
      position = reference.range.upperBound
    }
    #expect(isConsistent, "seed \(seed ?? 0): \(String(decoding: body, as: UTF8.self))")
    var edits = ByteEdits()
    for reference in found.references {
      edits.replace(reference.range, with: Array(body[reference.range]))
    }
    #expect(edits.applied(to: body) == body)

    if let playlist = HLSMultivariantPlaylist(body, url: HLSPlaylists.url) {
      #expect(
        playlist.filtered(body, keepingVariant: { _ in true }, keepingRendition: { _ in true })
          == body)
      let none = playlist.filtered(
        body, keepingVariant: { _ in false }, keepingRendition: { _ in false })
      let rest = HLSMultivariantPlaylist(none, url: HLSPlaylists.url)
      #expect(rest?.variants.isEmpty ?? true, "seed \(seed ?? 0)")
      #expect(rest?.renditions.isEmpty ?? true, "seed \(seed ?? 0)")
    }
    if let playlist = HLSMediaPlaylist(body, url: HLSPlaylists.url) {
      #expect(playlist.totalDuration.isFinite)
      #expect(playlist.segments.allSatisfy { $0.keys.allSatisfy(playlist.keys.indices.contains) })
      #expect(playlist.segments.allSatisfy { $0.map.map(playlist.maps.indices.contains) ?? true })
    }
  }

  @Test(arguments: [HLSPlaylists.multivariant, HLSPlaylists.media])
  func `Every prefix of a playlist parses`(text: String) async {
    let body = Array(text.utf8)
    for length in 0...body.count {
      Self.check(Array(body[..<length]))
      // Yields to parallel tests, which depend on timers.
      if length % 100 == 0 { await Task.yield() }
    }
  }

  static let grains: [[UInt8]] =
    [
      "\n", "\r", "\r\n", "\"", ",", "=", "{$cdn}", "{$", "}", "#", ":", " ", "\t", "\u{FEFF}",
      "\u{0}", "é", "#EXTM3U", "#EXT-X-STREAM-INF:BANDWIDTH=1\n", "#EXTINF:1,\n", "URI=\"",
      "#EXT-X-DEFINE:NAME=\"cdn\",VALUE=\"{$cdn}{$cdn}\"\n", "@", "99999999999999999999", "-",
      "1e999",
      "#EXT-X-BYTERANGE:9223372036854775807@9223372036854775807\n", "nan", "x",
    ].map { Array($0.utf8) } + [[0xFF], [0xC3], [0x80]]

  @Test func `Random changes of a playlist parse`() async {
    let seed = TestSeed.next()
    print("HLSHostileTests: REFRAIN_SEED=\(seed)")
    var generator = SeededGenerator(seed: seed)
    for round in 0..<(TestSeed.isSoak ? 100_000 : TestSeed.isSanitized ? 100 : 400) {
      var body = Array((round % 2 == 0 ? HLSPlaylists.multivariant : HLSPlaylists.media).utf8)
      for _ in 0..<Int.random(in: 1...12, using: &generator) {
        let start = Int.random(in: 0...body.count, using: &generator)
        let end = min(start + Int.random(in: 0...8, using: &generator), body.count)
        body.replaceSubrange(
          start..<end, with: Self.grains.randomElement(using: &generator) ?? [])
      }
      Self.check(body, seed)
      if round % 50 == 0 { await Task.yield() }
    }
  }

  /// Lines that fill a whole body, and the lines before them.
  static let fillers: [(head: String, filler: String)] = [
    ("", "a"), ("#EXT-X-MAP:URI=\"", "a"),
    ("", " "), ("", "#"), ("", "\r"), ("", "a\n"), ("", "{$"), ("", "{"),
    ("#EXT-X-MAP:", "A=1,"), ("#EXT-X-MAP:", ","), ("#EXT-X-MAP:", "A"), ("#EXT-X-MAP:", "\""),
    ("#EXT-X-MAP:", "=\""), ("#EXT-X-MAP:", "URI=\"a\","),
    ("#EXT-X-STREAM-INF:", "A=\"b\","), ("", "#EXT-X-STREAM-INF:\n"), ("", "#EXTINF:\na\n"),
    ("#EXT-X-TARGETDURATION:1\n", "#EXT-X-KEY:METHOD=A,URI=\"k\"\n#EXTINF:\na\n"),
    ("", "#EXT-X-DEFINE:NAME=\"a\",VALUE=\"b\"\n"), ("#EXTINF:", "9"),
    ("#EXT-X-DEFINE:NAME=\"a\",VALUE=\"\(String(repeating: "v", count: 40_000))\"\n", "{$a}{$a}\n"),
  ]

  @Test(arguments: fillers.indices)
  func `A long body of one repeated text parses`(index: Int) {
    let (head, filler) = Self.fillers[index]
    // A quadratic search would take minutes for a quarter of a megabyte too.
    let length = index < 2 && !TestSeed.isSanitized ? Int(Manifest.longest) : 1 << 18
    let start = Array("#EXTM3U\n\(head)".utf8)
    let unit = Array(filler.utf8)
    var filling = unit
    while filling.count < length + unit.count { filling += filling }
    // The end of a filler, as if they were added one by one.
    let count = (max(0, length - start.count) + unit.count - 1) / unit.count * unit.count
    let body = start + filling[..<count]
    let references = HLSReferences(of: body, url: HLSPlaylists.url).references
    #expect(references.last.map { $0.line.upperBound <= body.count } ?? true)
    let multivariant = HLSMultivariantPlaylist(body, url: HLSPlaylists.url)
    #expect(multivariant?.variants.isEmpty ?? true)
    let media = HLSMediaPlaylist(body, url: HLSPlaylists.url)
    #expect(media.map { $0.totalDuration.isFinite } ?? true)
  }

  @Test func `A key of a new format in front of each segment uses linear memory`() throws {
    var text = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n"
    for index in 0..<20_000 {
      text += "#EXT-X-KEY:METHOD=A,URI=\"k\",KEYFORMAT=\"\(index)\"\n#EXTINF:1,\n\(index)\n"
    }
    let playlist = try #require(HLSPlaylists.media(text))
    #expect(playlist.keys.count == 20_000 && playlist.segments.count == 20_000)
    #expect(playlist.segments.allSatisfy { (1...16).contains($0.keys.count) })
    #expect(playlist.segments.last?.keys.last == 19_999)
  }

  @Test func `Ten thousand variants are filtered`() throws {
    var text = "#EXTM3U\n"
    for index in 0..<10_000 {
      text += "#EXT-X-STREAM-INF:BANDWIDTH=\(index),RESOLUTION=\(index)x\(index)\n\(index).m3u8\n"
    }
    let body = Array(text.utf8)
    let playlist = try #require(HLSMultivariantPlaylist(body, url: HLSPlaylists.url))
    #expect(playlist.variants.count == 10_000)
    let filtered = playlist.filtered(
      body, keepingVariant: { $0.bandwidth == 9_876 }, keepingRendition: { _ in true })
    #expect(
      String(decoding: filtered, as: UTF8.self)
        == "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=9876,RESOLUTION=9876x9876\n9876.m3u8\n")
  }
}
