// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// The decision which segments of live streams are given up: a pure value.
struct LiveSlidOutPolicyTests {
  private typealias Version = SlidOutSegments.Version

  private static func key(_ number: Int, part: Int? = nil, of list: String = "a") -> CacheKey {
    CacheKey(rawValue: "\(list)/s\(number)" + (part.map { ".\($0)" } ?? ""))
  }

  /// A playlist of these segments, with a target duration of six seconds.
  private func version(
    _ numbers: Range<Int>, parts: [Int] = [], of list: String = "a", segments: String? = nil,
    skips skipped: Int = 0, keepsAll: Bool = false
  ) -> Version {
    let name = segments ?? list
    let listed = numbers.dropFirst(skipped).map {
      Version.Resource(key: Self.key($0, of: name), sequence: Int64($0))
    }
    let parts = parts.map {
      Version.Resource(key: Self.key($0, part: 0, of: name), sequence: Int64($0), isPart: true)
    }
    return Version(
      playlist: CacheKey(rawValue: list), targetDuration: 6,
      mediaSequence: Int64(numbers.lowerBound), skippedSegments: Int64(skipped),
      keepsAll: keepsAll, resources: parts + listed)
  }

  private static func version(_ list: String, at url: URL) -> Version? {
    Version(
      Array(list.utf8), url: url, requested: url, of: CacheKey(rawValue: "main"), imported: [:]
    ) { CacheKey(url: $0) }
  }

  private func due(_ policy: inout SlidOutSegments, at time: Double) -> [CacheKey] {
    policy.takeDue(at: time).map(\.key)
  }

  @Test func `A segment is given up three target durations after it left its playlist`() {
    var policy = SlidOutSegments()
    policy.note(version(0..<4), at: 0)
    policy.note(version(2..<6), at: 10)
    #expect(due(&policy, at: 27.9).isEmpty)
    #expect(due(&policy, at: 28) == [Self.key(0), Self.key(1)])
    #expect(due(&policy, at: 100).isEmpty)
  }

  @Test func `A segment that another playlist names, or that is listed again, stays`() {
    var policy = SlidOutSegments()
    policy.note(version(0..<4), at: 0)
    policy.note(version(1..<5, of: "b", segments: "a"), at: 0)
    policy.note(version(2..<6), at: 10)
    #expect(due(&policy, at: 50) == [Self.key(0)])
    policy.note(version(2..<6, of: "b", segments: "a"), at: 60)
    policy.note(version(1..<6), at: 61)
    #expect(due(&policy, at: 200).isEmpty)
    policy.demote(Self.key(1), bytes: 10)
    #expect(policy.demotedBytes == 0)
  }

  @Test func `Parts are given up with their tags, and segments of a delta update are not`() {
    var policy = SlidOutSegments()
    policy.note(version(0..<10, parts: [7, 8, 9, 10]), at: 0)
    policy.note(version(1..<11, parts: [9, 10, 11], skips: 5), at: 6)
    #expect(due(&policy, at: 30) == [Self.key(0), Self.key(7, part: 0), Self.key(8, part: 0)])
    policy.note(version(4..<14, skips: 5), at: 40)
    let segments = Set(due(&policy, at: 100)).filter { !$0.rawValue.contains(".") }
    #expect(segments == [Self.key(1), Self.key(2), Self.key(3)])
  }

  @Test func `A growing playlist and one that has ended give up nothing`() {
    var policy = SlidOutSegments()
    policy.note(version(0..<4), at: 0)
    policy.note(version(0..<0, keepsAll: true), at: 10)
    policy.note(version(0..<4, of: "b", keepsAll: true), at: 10)
    policy.note(version(2..<6, of: "b", keepsAll: true), at: 20)
    #expect(due(&policy, at: 1000).isEmpty)
  }

  @Test func `What a growing or an ended playlist lists is needed`() {
    var policy = SlidOutSegments()
    policy.note(version(0..<4), at: 0)
    policy.note(version(0..<3, of: "event", segments: "a", keepsAll: true), at: 0)
    policy.note(version(4..<8), at: 10)
    #expect(due(&policy, at: 100) == [Self.key(3)])
    // The live playlist ends as that of the whole recording.
    policy.demote(Self.key(3), bytes: 10)
    policy.note(version(5..<9), at: 110)
    policy.note(version(0..<9, keepsAll: true), at: 120)
    #expect(policy.demotedBytes == 0 && due(&policy, at: 1000).isEmpty)
    policy.demote(Self.key(4), bytes: 10)
    #expect(policy.demotedBytes == 0)
    // Nobody has requested it for more than an hour.
    policy.note(version(0..<1, of: "b"), at: 5000)
    policy.demote(Self.key(4), bytes: 10)
    #expect(policy.demotedBytes == 10)
  }

  @Test func `Long films do not take the room of live playlists`() {
    var policy = SlidOutSegments()
    for film in 0..<9 {
      policy.note(version(0..<8192, of: "film \(film)", keepsAll: true), at: Double(film))
    }
    policy.note(version(0..<4), at: 10)
    policy.note(version(1..<5), at: 11)
    #expect(due(&policy, at: 100) == [Self.key(0)])
  }

  @Test(arguments: ["#EXT-X-ENDLIST\n", "#EXT-X-PLAYLIST-TYPE:EVENT\n"])
  func `The resources of a growing or an ended playlist are read`(tag: String) throws {
    let list = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\ns1.ts\n\(tag)"
    let url = try #require(URL(string: "http://a/l.m3u8"))
    let noted = try #require(
      Self.version(list, at: url))
    #expect(noted.keepsAll && noted.resources.map(\.key.rawValue) == ["http://a/s1.ts"])
  }

  @Test func `An entry leaves as a part of the streams that its playlist was played as`() throws {
    var policy = SlidOutSegments()
    let url = try #require(URL(string: "http://a/l.m3u8?_HLS_msn=7"))
    let noted = try #require(
      Self.version("#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\ns1.ts\n", at: url))
    #expect(noted.streams.map(\.rawValue).sorted() == ["http://a/l.m3u8", "main"])
    for (number, stream) in ["one", "two", "three"].enumerated() {
      var next = version(number..<number + 1)
      next.streams = [CacheKey(rawValue: stream)]
      policy.note(next, at: Double(number))
    }
    let left = policy.takeDue(at: 100).map { $0.streams.map(\.rawValue).sorted() }
    #expect(left == [["one", "two"], ["one", "three", "two"]])
  }

  @Test func `An entry in use is kept for another three target durations`() throws {
    var policy = SlidOutSegments()
    policy.note(version(0..<4), at: 0)
    policy.note(version(1..<5), at: 10)
    let entry = try #require(policy.takeDue(at: 28).first)
    policy.postpone(entry, usedAt: 25)
    #expect(due(&policy, at: 42.9).isEmpty)
    #expect(due(&policy, at: 43) == [Self.key(0)])
  }

  @Test func `Beyond the budget the first to leave are removed first`() {
    var policy = SlidOutSegments()
    for number in 0..<5 { policy.demote(Self.key(number), bytes: 10) }
    #expect(policy.takeExcess(over: 50).isEmpty)
    #expect(policy.takeExcess(over: 25) == [Self.key(0), Self.key(1), Self.key(2)])
    #expect(policy.demotedBytes == 20)
    // Listed again, the entry is no longer counted.
    policy.note(version(4..<5), at: 0)
    #expect(policy.demotedBytes == 10)
  }

  @Test func `The blocking reloads of a playlist are given up once a newer one came`() throws {
    var policy = SlidOutSegments()
    let list = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:1\n#EXTINF:2,\ns1.ts\n"
    for number in 1...3 {
      let url = try #require(URL(string: "http://a/l.m3u8?x=1&_HLS_msn=\(number)&_HLS_part=0"))
      let noted = try #require(
        Self.version(list, at: url))
      #expect(noted.playlist.rawValue == "http://a/l.m3u8?x=1")
      policy.note(noted, at: Double(number))
    }
    let names = due(&policy, at: 100).map(\.rawValue)
    #expect(names.map { $0.contains("_HLS_msn=3") } == [false, false])
  }

  @Test func `Many playlists and many segments take a bounded amount of memory`() {
    var policy = SlidOutSegments()
    for list in 0..<200 {
      policy.note(version(0..<4, of: "\(list)"), at: Double(list))
      policy.note(version(2..<6, of: "\(list)"), at: Double(list) + 0.5)
    }
    policy.note(version(0..<66_000), at: 2000)
    policy.note(version(100_000..<100_001), at: 2001)
    // Two of each short list, and none of the list that is too long.
    #expect(policy.takeDue(at: .infinity).count == 400)
  }
}
