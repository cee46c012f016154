// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

@testable import Refrain

/// Pinned entries are never evicted. A second cache in this process stands for another process.
@Suite(.timeLimit(.minutes(1)))
struct PinTests {
  private let directory = CacheDirectory(length: 2_000_000)
  private var length: Int64 { directory.length }

  @Test func `A pinned entry is evicted neither whole nor in part`() async throws {
    try await directory.fill(["pinned", "a", "b"])
    // Half an entry has to go first, then whole ones.
    let cache = try directory.cache(limit: directory.allocated - length / 2)
    try await cache.pin(directory.url("pinned"))
    try directory.age(["pinned", "a", "b"])
    for name in ["one", "two", "three"] { try await cache.prefetch(directory.url(name)) }
    #expect(try directory.isWhole("pinned"))
    #expect(try !directory.isWhole("a") && !directory.isWhole("b"))
    // Bytes are recorded just after their readers have received them.
    try await eventually("the new one is whole") { try directory.isWhole("three") }
    await cache.close()
  }

  @Test func `Another cache that has examined the entries respects a new pin`() async throws {
    try await directory.fill(["old", "a", "b", "c"])
    let evicting = try directory.cache(limit: directory.allocated)
    // It knows every entry after this eviction.
    try await evicting.prefetch(directory.url("one"))
    #expect(try !directory.isWhole("old") && directory.isWhole("b"))
    let pinning = try directory.cache()
    try await pinning.pin(directory.url("b"))
    for name in ["two", "three"] { try await evicting.prefetch(directory.url(name)) }
    #expect(try directory.isWhole("b"))
    #expect(try !directory.isWhole("c"))
    for cache in [evicting, pinning] { await cache.close() }
  }

  @Test func `A pin is there when the cache is opened again`() async throws {
    try await directory.fill(["pinned", "a"])
    let used = directory.allocated
    let limit = used + length / 4
    let first = try directory.cache(limit: limit)
    try await first.pin(directory.url("pinned"))
    await first.close()
    try directory.age(["pinned", "a"])
    let second = try directory.cache(limit: limit)
    try await #expect(second.entry(for: directory.url("pinned"))?.isPinned == true)
    try await #expect(second.entry(for: directory.url("a"))?.isPinned == false)
    try await second.prefetch(directory.url("one"))
    #expect(try directory.isWhole("pinned"))
    try await eventually("the new one is whole") { try directory.isWhole("one") }
    await second.close()
  }

  @Test func `An entry can be pinned while it is being read and fetched`() async throws {
    try await directory.fill(["a", "b"])
    let cache = try directory.cache(limit: directory.allocated + length / 2)
    let reader = try await cache.open(directory.url("pinned"))
    _ = try await reader.bytes(in: 0..<100_000)
    try await #expect(cache.pin(CacheKey(url: directory.url("pinned"))))
    _ = try await reader.bytes(in: 0..<length)
    reader.cancel()
    try await eventually("the entry is closed") { cache.table.isEmpty }
    try directory.age(["pinned"])
    for name in ["one", "two"] { try await cache.prefetch(directory.url(name)) }
    #expect(try directory.isWhole("pinned"))
    await cache.close()
  }

  @Test func `A pin set by another cache outlives what the writer does`() async throws {
    try await directory.fill(["a"])
    let used = directory.allocated
    let writing = try directory.cache()
    let reader = try await writing.open(directory.url("pinned"))
    _ = try await reader.bytes(in: 0..<500_000)
    let pinning = try directory.cache(limit: used + length + 500_000)
    try await eventually("the entry is recorded") {
      try directory.stored("pinned").usableSpans().byteCount > 0
    }
    try await #expect(pinning.pin(CacheKey(url: directory.url("pinned"))))
    _ = try await reader.bytes(in: 0..<length)
    reader.cancel()
    await writing.close()
    try directory.age(["pinned", "a"])
    for name in ["one", "two"] { try await pinning.prefetch(directory.url(name)) }
    #expect(try directory.isWhole("pinned"))
    #expect(try !directory.isWhole("a"))
    await pinning.close()
  }

  @Test func `An entry whose pin was lifted is evicted`() async throws {
    try await directory.fill(["old", "a", "b"])
    let cache = try directory.cache(limit: directory.allocated)
    try await cache.pin(directory.url("old"))
    try await #expect(cache.unpin(directory.url("old")))
    try await #expect(!cache.unpin(directory.url("old")))
    try await #expect(cache.entry(for: directory.url("old"))?.isPinned == false)
    try directory.age(["old", "a", "b"])
    try await cache.prefetch(directory.url("one"))
    #expect(try !directory.isWhole("old"))
    #expect(try directory.isWhole("b"))
    await cache.close()
  }

  @Test func `Removing a pinned entry removes its pin`() async throws {
    try await directory.fill(["a"])
    let cache = try directory.cache(limit: directory.allocated + length)
    try await cache.pin(directory.url("a"))
    try await #expect(cache.remove(directory.url("a")) ?? 0 >= length)
    try await #expect(cache.usage().pinnedBytes == 0)
    try await cache.prefetch(directory.url("a"))
    try await #expect(cache.entry(for: directory.url("a"))?.isPinned == false)
    // Its claim is gone, too: twice as much can be pinned as one entry.
    try await cache.pin(directory.url("b"))
    await cache.close()
  }

  @Test func `Usage counts pinned bytes apart, and within all bytes`() async throws {
    try await directory.fill(["a", "b", "c"])
    let cache = try directory.cache()
    try await #expect(cache.usage().pinnedBytes == 0)
    try await cache.pin(directory.url("a"))
    try await cache.pin(directory.url("c"))
    let pinned = try await cache.entries().filter(\.isPinned)
    #expect(try Set(pinned.map(\.url)) == [directory.url("a"), directory.url("c")])
    let usage = try await cache.usage()
    #expect(usage.pinnedBytes == pinned.reduce(0) { $0 + $1.allocatedBytes })
    #expect(usage.pinnedBytes > 2 * length && usage.allocatedBytes > 3 * length)
    #expect(usage.entries == 3)
    try await #expect(cache.listing().usage == usage)
    await cache.close()
  }

  @Test func `Verifying leaves a pin and finds nothing wrong with it`() async throws {
    try await directory.fill(["a"])
    let cache = try directory.cache()
    try await cache.pin(directory.url("a"))
    try await #expect(cache.verify().flatMap(\.problems).isEmpty)
    // A repair rewrites the record.
    let file = try #require(try await cache.entry(for: directory.url("a"))).file
    #expect(truncate(file.path(percentEncoded: false), 1_000_000) == 0)
    let problems = try await cache.verify().flatMap(\.problems)
    #expect(!problems.isEmpty)
    try await #expect(cache.verify().flatMap(\.problems).isEmpty)
    try await #expect(cache.entry(for: directory.url("a"))?.isPinned == true)
    await cache.close()
  }

  @Test func `Nothing can be pinned under a key without an entry`() async throws {
    try await directory.fill(["a"])
    let cache = try directory.cache()
    try await #expect(!cache.pin(CacheKey(url: directory.url("missing"))))
    try await #expect(!cache.unpin(CacheKey(url: directory.url("missing"))))
    try await #expect(cache.usage().entries == 1)
    await cache.close()
  }
}
