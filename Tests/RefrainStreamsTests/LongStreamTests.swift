// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain
@testable import RefrainStreams

/// A stream of 100,000 segments, each of which is an entry. Operations are counted, not timed; one
/// that compared all entries with each other would exceed the time limit.
@Suite(.timeLimit(.minutes(1))) struct LongStreamTests {
  private static let root = CacheKey(rawValue: "http://h/main.m3u8")
  private static let count = 100_000

  private struct Entry {
    var key: CacheKey
    var stream: CacheKey?
  }

  /// Returns the key of one of a hundred media playlists.
  private static func list(_ number: Int) -> CacheKey {
    CacheKey(rawValue: "http://h/\(number % 100).m3u8")
  }

  /// Returns segments and media playlists, which name the first manifest, and the manifest.
  private static func stream(of count: Int) -> [Entry] {
    let segments = (0..<count).map {
      Entry(key: CacheKey(rawValue: "http://h/\($0).ts"), stream: root)
    }
    let lists = (0..<100).map { Entry(key: list($0), stream: root) }
    return segments + lists + [Entry(key: root)]
  }

  @Test func `Finding the first manifests looks at each entry as often as in a short stream`() {
    for count in [1000, Self.count] {
      let entries = Self.stream(of: count)
      var looks = 0
      let roots = GroupRoots(
        entries.lazy.map { entry in
          looks += 1
          return (key: entry.key, group: entry.stream)
        })
      #expect(looks <= 2 * entries.count, "\(count)")
      #expect(roots.root(of: entries[0].key, group: entries[0].stream) == Self.root)
    }
  }

  @Test func `All segments are one item, beside a song in their midst`() throws {
    let template = EntrySummary(
      key: Self.root, url: try #require(URL(string: Self.root.rawValue)), length: 10,
      spans: RangeSet(0..<10), cachedBytes: 10, allocatedBytes: 20,
      lastAccess: Date(timeIntervalSince1970: 1), isComplete: true, isInUse: false,
      isPinned: false, file: URL(filePath: "/x"))
    var entries = Self.stream(of: Self.count).map { entry in
      var summary = template
      (summary.key, summary.group) = (entry.key, entry.stream)
      return summary
    }
    var song = template
    song.key = CacheKey(rawValue: "http://h/a.mp3")
    entries.insert(song, at: Self.count / 2)
    let items = StoredItem.grouped(entries)
    #expect(items.count == 2 && items.last == .entry(song))
    guard case .group(let stream)? = items.first else {
      Issue.record("no stream")
      return
    }
    #expect(stream.key == Self.root && stream.first?.key == Self.root)
    #expect(stream.parts == Self.count + 100)
    #expect(stream.cachedBytes == 10 * Int64(Self.count + 101))
  }

  @Test func `Evicting the oldest segments one by one does not look at all each time`() {
    var index = EntryIndex()
    for number in 0..<Self.count {
      index.note(.init(name: "\(number)", lastAccess: Double(number), allocatedBytes: 4096))
    }
    var number = 0
    while true {
      let oldest = index.oldest()
      if oldest.isEmpty { break }
      for entry in oldest.reversed() {
        #expect(entry.name == "\(number)")
        index.forget(entry.name)
        number += 1
      }
    }
    #expect(number == Self.count)
  }
}
