// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import TestSupport
import Testing

@testable import RefrainProxy

/// Versions of a live playlist become one playlist.
struct RecordedPlaylistTests {
  private static let base = URL(filePath: "/")

  private func version(_ lines: String...) throws -> HLSMediaPlaylist {
    let text = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n" + lines.joined(separator: "\n")
    return try #require(HLSMediaPlaylist(Array(text.utf8), url: Self.base))
  }

  /// A version with the segments of these numbers, two seconds each.
  private func version(_ numbers: Range<Int>, _ name: (Int) -> String = { "s\($0).ts" }) throws
    -> HLSMediaPlaylist
  {
    let segments = numbers.map { "#EXTINF:2,\n\(name($0))" }.joined(separator: "\n")
    return try version("#EXT-X-MEDIA-SEQUENCE:\(numbers.lowerBound)", segments)
  }

  private func parsed(_ playlist: RecordedPlaylist, from number: Int64 = 0) throws
    -> HLSMediaPlaylist
  {
    try #require(HLSMediaPlaylist(playlist.text(from: number), url: Self.base))
  }

  @Test func `Segments that leave the origin's playlist stay`() throws {
    var playlist = RecordedPlaylist(try version(3..<6))
    let second = try version(5..<8)
    let isNew = playlist.note(second)
    #expect(isNew)
    let again = playlist.note(second)
    #expect(!again)
    #expect(playlist.segments.map(\.uri) == (3..<8).map { "s\($0).ts" })
    #expect(playlist.firstListed == 5 && playlist.times == 0..<10)
    let text = try parsed(playlist, from: 4)
    #expect(text.mediaSequence == 4 && text.type == .event && !text.isEnded)
    #expect(text.segments.map(\.uri) == ["s4.ts", "s5.ts", "s6.ts", "s7.ts"])
    playlist.dropFirst()
    #expect(
      playlist.firstNumber == 4 && playlist.number(at: 3.9) == 4 && playlist.number(at: 4) == 5)
  }

  @Test func `An older version, of another machine of the origin, changes nothing`() throws {
    var playlist = RecordedPlaylist(try version(3..<6))
    let isNew = playlist.note(try version(4..<7))
    #expect(isNew)
    let isNews = playlist.note(try version(3..<6))
    #expect(!isNews && playlist.segments.count == 4 && playlist.firstListed == 4)
  }

  @Test func `Tokens that change from version to version make no other segments`() throws {
    var playlist = RecordedPlaylist(try version(3..<6) { "a1/s\($0).ts?t=1" })
    let isNew = playlist.note(try version(4..<7) { "b2/s\($0).ts?t=2" })
    #expect(isNew)
    #expect(playlist.segments.map(\.sequence) == [3, 4, 5, 6])
  }

  @Test func `Missing segments are a discontinuity, and take their time`() throws {
    var playlist = RecordedPlaylist(try version(3..<6))
    let isNew = playlist.note(try version(8..<10))
    #expect(isNew)
    #expect(playlist.segments.map(\.start) == [0, 2, 4, 10, 12])
    #expect(playlist.segments.map(\.isDiscontinuity) == [false, false, false, true, false])
    // Numbers have no gap, so the players' own count is right.
    let text = try parsed(playlist)
    #expect(text.segments.map(\.sequence) == [3, 4, 5, 6, 7])
  }

  @Test(arguments: [0..<3, 4..<6]) func `A sequence that begins again goes on`(
    numbers: Range<Int>
  ) throws {
    var playlist = RecordedPlaylist(try version(3..<6))
    let isNew = playlist.note(try version(numbers) { "new\($0).ts" })
    #expect(isNew)
    let new = playlist.segments.dropFirst(3)
    #expect(new.map(\.uri) == numbers.map { "new\($0).ts" })
    #expect(new.first?.isDiscontinuity == true && playlist.firstListed == 6)
    // The second version of it continues it.
    let next = numbers.lowerBound + 1..<numbers.upperBound + 1
    let isContinued = playlist.note(try version(next) { "new\($0).ts" })
    #expect(isContinued)
    #expect(playlist.segments.count == 4 + numbers.count && playlist.firstListed == 7)
  }

  @Test func `Keys, vectors, initializations and ranges stay those of their segments`() throws {
    let first = try version(
      "#EXT-X-MEDIA-SEQUENCE:7", "#EXT-X-MAP:URI=\"i.mp4\",BYTERANGE=\"10@5\"",
      "#EXT-X-KEY:METHOD=AES-128,URI=\"k1\"", "#EXTINF:2,", "#EXT-X-BYTERANGE:100@0", "a.mp4",
      "#EXTINF:2,", "#EXT-X-BYTERANGE:50", "a.mp4", "#EXT-X-KEY:METHOD=AES-128,URI=\"k2\",IV=0xAB",
      "#EXTINF:2,", "b.mp4", "#EXT-X-KEY:METHOD=NONE", "#EXT-X-GAP", "#EXTINF:2,", "c.mp4")
    var playlist = RecordedPlaylist(first)
    // In a later version, the tags stand before other segments.
    let last = try version(
      "#EXT-X-MEDIA-SEQUENCE:10", "#EXT-X-MAP:URI=\"i.mp4\",BYTERANGE=\"10@5\"", "#EXT-X-GAP",
      "#EXTINF:2,", "c.mp4", "#EXT-X-MAP:URI=\"j.mp4\"", "#EXT-X-DISCONTINUITY", "#EXTINF:2,",
      "d.mp4", "#EXT-X-ENDLIST")
    let isNew = playlist.note(last)
    #expect(isNew)
    let text = try parsed(playlist, from: 8)
    #expect(text.isEnded && text.segments.map(\.isGap) == [false, false, true, false])
    #expect(text.segments.map(\.isDiscontinuity) == [false, false, false, true])
    #expect(
      text.segments.map { $0.map.map { text.maps[$0].uri } } == [
        "i.mp4", "i.mp4", "i.mp4", "j.mp4",
      ])
    #expect(text.maps.map(\.byteRange) == [5..<15, nil])
    #expect(text.segments[0].byteRange == 100..<150 && text.segments[1].byteRange == nil)
    let keys = text.segments.map { $0.keys.map { text.keys[$0].uri } }
    #expect(keys == [["k1"], ["k2"], [], []])
    #expect(
      text.segments.map(\.vectors)
        == [["0x00000000000000000000000000000008"], ["0xAB"], [], []])
  }

  /// A KEY applies to what follows it, also to initializations (RFC 8216 §4.3.2.4).
  @Test func `An initialization keeps the key that stands before it, or none`() throws {
    func lines(_ playlist: RecordedPlaylist, from number: Int64 = 0) -> [Substring] {
      String(decoding: playlist.text(from: number), as: UTF8.self).split(separator: "\n")
        .filter { $0.hasPrefix("#EXT-X-KEY") || $0.hasPrefix("#EXT-X-MAP") }
    }
    let (map, vector) = ("#EXT-X-MAP:URI=\"i.mp4\"", "IV=0xAB")
    let one = "#EXT-X-KEY:METHOD=AES-128,URI=\"k1\",\(vector)"
    let two = "#EXT-X-KEY:METHOD=AES-128,URI=\"k2\",\(vector)"
    let clear = RecordedPlaylist(try version(map, one, "#EXTINF:2,", "a.mp4"))
    #expect(lines(clear).map(String.init) == [map, one])
    let locked = RecordedPlaylist(
      try version(one, map, "#EXTINF:2,", "a.mp4", two, "#EXTINF:2,", "b.mp4"))
    #expect(lines(locked).map(String.init) == [one, map, two])
    // Also where the playlist begins with a later segment.
    #expect(lines(locked, from: 1).map(String.init) == [one, map, two])
  }

  @Test func `A sequence that jumps ahead takes no longer than the time that passed`() throws {
    var playlist = RecordedPlaylist(try version(3..<6))
    let isNew = playlist.note(try version(9000..<9002), after: 20)
    #expect(isNew && playlist.segments.count == 5)
    // Twenty seconds, and the origin's own delay.
    #expect(playlist.times.upperBound == 6 + 22 + 4)
    #expect(playlist.segments.map(\.isDiscontinuity) == [false, false, false, true, false])
  }

  @Test func `Discontinuities that have left the playlist are counted`() throws {
    var playlist = RecordedPlaylist(
      try version(
        "#EXT-X-DISCONTINUITY-SEQUENCE:4", "#EXTINF:2,", "a.ts", "#EXT-X-DISCONTINUITY",
        "#EXTINF:2,", "b.ts", "#EXTINF:2,", "c.ts", "#EXT-X-DISCONTINUITY", "#EXTINF:2,", "d.ts"))
    #expect(try parsed(playlist).discontinuitySequence == 4)
    #expect(try parsed(playlist, from: 1).discontinuitySequence == 4)
    #expect(try parsed(playlist, from: 2).discontinuitySequence == 5)
    for _ in 0..<2 { playlist.dropFirst() }
    #expect(try parsed(playlist, from: 2).discontinuitySequence == 5)
  }

  @Test func `A target duration that is too long delays no reload beyond what is listed`() throws {
    func pace(_ target: Int) throws -> Double {
      let text =
        "#EXTM3U\n#EXT-X-TARGETDURATION:\(target)\n"
        + String(repeating: "#EXTINF:2,\na.ts\n", count: 6)
      return RecordedPlaylist(
        try #require(HLSMediaPlaylist(Array(text.utf8), url: Self.base))
      ).pace
    }
    #expect(try pace(2) == 2 && pace(4) == 4 && pace(1_000_000_000) == 4)
  }

  @Test func `Quotation marks and number signs of variables do not become tags`() throws {
    let playlist = RecordedPlaylist(
      try version(
        "#EXT-X-DEFINE:NAME=\"x\",VALUE=\"#EXT-X-ENDLIST\"", "#EXTINF:2,", "{$x}", "#EXTINF:2,",
        "b.ts"))
    let text = try parsed(playlist)
    #expect(!text.isEnded && text.segments.count == 2)
  }

  @Test(arguments: [Int64.max, Int64.max - 1, 1 << 60] as [Int64])
  func `The greatest numbers do no harm`(
    first: Int64
  ) throws {
    func version(_ first: Int64) throws -> HLSMediaPlaylist {
      try self.version("#EXT-X-MEDIA-SEQUENCE:\(first)", "#EXTINF:2,", "a.ts", "#EXTINF:2,", "b.ts")
    }
    var playlist = RecordedPlaylist(try version(first))
    _ = playlist.note(try version(0))
    _ = playlist.note(try version(first))
    #expect(try !parsed(playlist).segments.isEmpty)
  }

  @Test func `Many dropped segments leave the others in their places`() throws {
    var playlist = RecordedPlaylist(try version(0..<1000))
    _ = playlist.note(try version(900..<1100))
    for _ in 0..<900 { playlist.dropFirst() }
    #expect(playlist.segments.map(\.sequence) == (900..<1100).map { Int64($0) })
    #expect(playlist.segment(950)?.uri == "s950.ts" && playlist.segment(899) == nil)
    #expect(playlist.number(at: 2000) == 1000 && playlist.firstListed == 900)
    #expect(try parsed(playlist, from: 1098).segments.map(\.uri) == ["s1098.ts", "s1099.ts"])
  }

  @Test func `Live playback begins three target durations before the end`() throws {
    #expect(RecordedPlaylist(try version(10..<20)).liveNumber == 17)
    #expect(RecordedPlaylist(try version(10..<12)).liveNumber == 10)
  }

  @Test(arguments: 0..<20) func `Random reloads lose and repeat nothing`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let window = Int.random(in: 3...8, using: &random)
    var place = Int.random(in: 0...100, using: &random)
    let start = place
    var playlist = RecordedPlaylist(try version(place..<place + window))
    var dropped = 0
    for _ in 0..<60 {
      // No further than the window reaches, or the version before again.
      let next = max(start, place + Int.random(in: -1...window, using: &random))
      _ = playlist.note(try version(next..<next + window))
      place = max(place, next)
      if playlist.firstNumber < playlist.firstListed, Bool.random(using: &random) {
        playlist.dropFirst()
        dropped += 1
      }
      #expect(
        playlist.segments.map(\.sequence) == (start + dropped..<place + window).map { Int64($0) })
      #expect(playlist.firstListed == Int64(place) && playlist.endNumber == Int64(place + window))
      for (index, segment) in playlist.segments.enumerated() {
        #expect(segment.start == Double(2 * (dropped + index)) && !segment.isDiscontinuity)
      }
    }
  }
}
