// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

@testable import Refrain

/// Pinned entries are never evicted. A second cache in this process stands for another process.
@Suite(.timeLimit(.minutes(1)))
struct PinTests {
  private let length: Int64 = 2_000_000
  private let bytes = SyntheticBytes(seed: 1)

  private func url(_ name: String) throws -> URL {
    try #require(URL(string: "http://origin.test/\(name).wav"))
  }

  private func cache(
    _ directory: URL, limit: Int64?, length: Int64? = nil
  ) throws -> MediaCache {
    let origin = MemoryTransport(seed: 1, length: length ?? self.length)
    return try MediaCache(
      directory: directory,
      configuration: TestCache.configuration {
        $0.transport = origin
        $0.limit = limit
        $0.trustStored = true
      })
  }

  /// Runs `body` with a directory of these entries, stored whole, the first one used the longest
  /// ago, and the disk space that it takes.
  private func withEntries(
    _ names: [String], _ body: (_ directory: URL, _ used: Int64) async throws -> Void
  ) async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let cache = try cache(directory, limit: nil)
    for name in names { try await cache.prefetch(url(name)) }
    await cache.close()
    try age(directory, names)
    try await body(directory, allocatedBytes(directory.path(percentEncoded: false)))
  }

  /// Makes the entries old, the first one the oldest.
  private func age(_ directory: URL, _ names: [String]) throws {
    for (index, name) in names.enumerated() {
      let path = try StoredBytes(directory, url(name)).directory.recordPath
      SystemFiles.setChangeTime(of: path, to: 1_000_000_000 + Double(index) * 1000)
    }
  }

  private func isWhole(_ directory: URL, _ name: String) throws -> Bool {
    let stored = try StoredBytes(directory, url(name))
    return try stored.usableSpans() == RangeSet(0..<length) && stored.firstWrongByte(bytes) == nil
  }

  @Test func `A pinned entry is evicted neither whole nor in part`() async throws {
    try await withEntries(["pinned", "a", "b"]) { directory, used in
      // Half an entry has to go first, then whole ones.
      let cache = try cache(directory, limit: used - length / 2)
      try await cache.pin(url("pinned"))
      try age(directory, ["pinned", "a", "b"])
      for name in ["one", "two", "three"] { try await cache.prefetch(url(name)) }
      #expect(try isWhole(directory, "pinned"))
      #expect(try !isWhole(directory, "a") && !isWhole(directory, "b"))
      // Bytes are recorded just after their readers have received them.
      try await eventually("the new one is whole") { try isWhole(directory, "three") }
      await cache.close()
    }
  }

  @Test func `Another cache that has examined the entries respects a new pin`() async throws {
    try await withEntries(["old", "a", "b", "c"]) { directory, used in
      let evicting = try cache(directory, limit: used)
      // It knows every entry after this eviction.
      try await evicting.prefetch(url("one"))
      #expect(try !isWhole(directory, "old") && isWhole(directory, "b"))
      let pinning = try cache(directory, limit: nil)
      try await pinning.pin(url("b"))
      for name in ["two", "three"] { try await evicting.prefetch(url(name)) }
      #expect(try isWhole(directory, "b"))
      #expect(try !isWhole(directory, "c"))
      for cache in [evicting, pinning] { await cache.close() }
    }
  }

  @Test func `A pin is there when the cache is opened again`() async throws {
    try await withEntries(["pinned", "a"]) { directory, used in
      let limit = used + length / 4
      let first = try cache(directory, limit: limit)
      try await first.pin(url("pinned"))
      await first.close()
      try age(directory, ["pinned", "a"])
      let second = try cache(directory, limit: limit)
      try await #expect(second.entry(for: url("pinned"))?.isPinned == true)
      try await #expect(second.entry(for: url("a"))?.isPinned == false)
      try await second.prefetch(url("one"))
      #expect(try isWhole(directory, "pinned"))
      try await eventually("the new one is whole") { try isWhole(directory, "one") }
      await second.close()
    }
  }

  @Test func `An entry can be pinned while it is being read and fetched`() async throws {
    try await withEntries(["a", "b"]) { directory, used in
      let cache = try cache(directory, limit: used + length / 2)
      let reader = try await cache.open(url("pinned"))
      _ = try await reader.bytes(in: 0..<100_000)
      try await #expect(cache.pin(CacheKey(url: url("pinned"))))
      _ = try await reader.bytes(in: 0..<length)
      reader.cancel()
      try await eventually("the entry is closed") { cache.context.table.isEmpty }
      try age(directory, ["pinned"])
      for name in ["one", "two"] { try await cache.prefetch(url(name)) }
      #expect(try isWhole(directory, "pinned"))
      await cache.close()
    }
  }

  @Test func `A pin set by another cache outlives what the writer does`() async throws {
    try await withEntries(["a"]) { directory, used in
      let writing = try cache(directory, limit: nil)
      let reader = try await writing.open(url("pinned"))
      _ = try await reader.bytes(in: 0..<500_000)
      let pinning = try cache(directory, limit: used + length + 500_000)
      try await eventually("the entry is recorded") {
        try StoredBytes(directory, url("pinned")).usableSpans().byteCount > 0
      }
      try await #expect(pinning.pin(CacheKey(url: url("pinned"))))
      _ = try await reader.bytes(in: 0..<length)
      reader.cancel()
      await writing.close()
      try age(directory, ["pinned", "a"])
      for name in ["one", "two"] { try await pinning.prefetch(url(name)) }
      #expect(try isWhole(directory, "pinned"))
      #expect(try !isWhole(directory, "a"))
      await pinning.close()
    }
  }

  @Test func `An entry whose pin was lifted is evicted`() async throws {
    try await withEntries(["old", "a", "b"]) { directory, used in
      let cache = try cache(directory, limit: used)
      try await cache.pin(url("old"))
      try await #expect(cache.unpin(url("old")))
      try await #expect(!cache.unpin(url("old")))
      try await #expect(cache.entry(for: url("old"))?.isPinned == false)
      try age(directory, ["old", "a", "b"])
      try await cache.prefetch(url("one"))
      #expect(try !isWhole(directory, "old"))
      #expect(try isWhole(directory, "b"))
      await cache.close()
    }
  }

  @Test func `Removing a pinned entry removes its pin`() async throws {
    try await withEntries(["a"]) { directory, used in
      let cache = try cache(directory, limit: used + length)
      try await cache.pin(url("a"))
      try await #expect(cache.remove(url("a")) ?? 0 >= length)
      try await #expect(cache.usage().pinnedBytes == 0)
      try await cache.prefetch(url("a"))
      try await #expect(cache.entry(for: url("a"))?.isPinned == false)
      // Its claim is gone, too: twice as much can be pinned as one entry.
      try await cache.pin(url("b"))
      await cache.close()
    }
  }

  @Test func `Usage counts pinned bytes apart, and within all bytes`() async throws {
    try await withEntries(["a", "b", "c"]) { directory, _ in
      let cache = try cache(directory, limit: nil)
      try await #expect(cache.usage().pinnedBytes == 0)
      try await cache.pin(url("a"))
      try await cache.pin(url("c"))
      let pinned = try await cache.entries().filter(\.isPinned)
      #expect(try Set(pinned.map(\.url)) == [url("a"), url("c")])
      let usage = try await cache.usage()
      #expect(usage.pinnedBytes == pinned.reduce(0) { $0 + $1.allocatedBytes })
      #expect(usage.pinnedBytes > 2 * length && usage.allocatedBytes > 3 * length)
      #expect(usage.entries == 3)
      try await #expect(cache.listing().usage == usage)
      await cache.close()
    }
  }

  @Test func `Verifying leaves a pin and finds nothing wrong with it`() async throws {
    try await withEntries(["a"]) { directory, _ in
      let cache = try cache(directory, limit: nil)
      try await cache.pin(url("a"))
      try await #expect(cache.verify().flatMap(\.problems).isEmpty)
      // A repair rewrites the record.
      let file = try #require(try await cache.entry(for: url("a"))).file
      #expect(truncate(file.path(percentEncoded: false), 1_000_000) == 0)
      let problems = try await cache.verify().flatMap(\.problems)
      #expect(!problems.isEmpty)
      try await #expect(cache.verify().flatMap(\.problems).isEmpty)
      try await #expect(cache.entry(for: url("a"))?.isPinned == true)
      await cache.close()
    }
  }

  @Test func `Nothing can be pinned under a key without an entry`() async throws {
    try await withEntries(["a"]) { directory, _ in
      let cache = try cache(directory, limit: nil)
      try await #expect(!cache.pin(CacheKey(url: url("missing"))))
      try await #expect(!cache.unpin(CacheKey(url: url("missing"))))
      try await #expect(cache.usage().entries == 1)
      await cache.close()
    }
  }
}
