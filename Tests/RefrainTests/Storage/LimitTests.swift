// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Promise 3: the cache takes no more disk space than its limit, open entries included.
@Suite(.timeLimit(.minutes(1)))
struct LimitTests {
  private let directory = CacheDirectory(length: 2_000_000)

  @Test(arguments: [200 << 10, 1 << 20, 3_333_333] as [Int64])
  func `An entry larger than the limit plays, and the limit holds at every instant`(
    _ limit: Int64
  ) async throws {
    let directory = CacheDirectory(length: 9_000_011)
    let peak = PeakSize(directory)
    try await directory.withCache(limit: limit, disk: peak.disk) { cache in
      for name in ["one", "two"] {
        let reader = try await cache.open(directory.url(name))
        var read: [UInt8] = []
        for try await chunk in reader.chunks() { read += chunk }
        let isRight = read == directory.bytes.bytes(in: 0..<directory.length)
        #expect(isRight)
        reader.cancel()
      }
    }
    #expect(peak.bytes <= limit && peak.bytes > limit / 2)
    for name in ["one", "two"] { #expect(try directory.isRight(name)) }
  }

  @Test
  func `The least recently used entries are evicted, and the last is shortened`() async throws {
    try await directory.fill(["c", "a", "d", "b"])
    func keys(_ names: [String]) throws -> [CacheKey] {
      try names.map { CacheKey(url: try directory.url($0)) }
    }
    let cache = try directory.cache(limit: directory.allocated - 500_000)
    let events = cache.events()
    try await cache.prefetch(directory.url("new"))
    try await #expect(cache.entries().map(\.key) == keys(["new", "b", "d", "a"]))
    await cache.close()
    var evicted: [CacheKey] = []
    for await case .evicted(let key, _) in events { evicted.append(key) }
    #expect(try evicted.first == keys(["c"]).first)
    #expect(try Set(evicted).isSubset(of: keys(["c", "a"])))
    // Its age is unchanged.
    let shortened = try directory.stored("a")
    #expect(SystemFiles.status(of: shortened.directory.recordPath)?.changed == 1_000_001_000)
    #expect(try directory.isRight("a"))
    let spans = try shortened.spans()
    #expect(spans.contains(0) && spans.ranges.count == 1)
    #expect(spans.byteCount < directory.length)
  }

  @Test(arguments: [(500_000, false), (1_100_000, true)] as [(Int64, Bool)])
  func `An entry is shortened if most of it can stay, else removed`(
    _ bytes: Int64, _ isRemoved: Bool
  ) async throws {
    try await directory.fill(["a"])
    try await directory.withCache(limit: 1 << 40) { cache in
      let evictor = cache.evictor
      let freed = await Task(executorPreference: IOThreads.shared) {
        await evictor.free(bytes)
      }.value
      #expect(freed >= (isRemoved ? directory.length : bytes))
    }
    #expect(try directory.stored(of: ["a"]).isEmpty == isRemoved)
  }

  @Test func `A shortened entry frees its blocks and is filled again`() async throws {
    try await directory.fill(["a"])
    let (stored, length) = (try directory.stored(), directory.length)
    let before = allocatedBytes(stored.directory.path)
    #expect(try stored.directory.evict(700_000) == CacheKey(url: directory.url()))
    #expect(before - allocatedBytes(stored.directory.path) >= 700_000)
    #expect(try directory.isRight())
    let spans = try stored.spans()
    #expect(spans.byteCount <= length - 700_000 && spans.byteCount > length - 710_000)
    let origin = directory.transport()
    try await directory.withCache(transport: origin) { cache in
      try await directory.expectToPlay(from: cache)
    }
    #expect(origin.received == RangeSet(0..<length).subtracting(spans))
    #expect(try directory.isWhole())
  }

  /// The locks belong to an open file: a second cache stands for another process.
  @Test func `An entry in use, here or in another cache, is not evicted`() async throws {
    try await directory.fill(["here", "there", "free", "later"])
    let limit = directory.allocated
    let other = try directory.cache()
    let there = try await other.open(directory.url("there"))
    _ = try await there.bytes(in: 0..<10)
    let cache = try directory.cache(limit: limit)
    let here = try await cache.open(directory.url("here"))
    _ = try await here.bytes(in: 0..<10)
    // Opening made them the most recent; their age must not protect them.
    try directory.age(["here", "there"])
    try await cache.prefetch(directory.url("new"))
    let names = ["here", "there", "free", "later", "new", "newer"]
    #expect(try directory.stored(of: names) == ["here", "there", "later", "new"])
    for reader in [here, there] {
      try await directory.expectToPlay(from: reader)
      reader.cancel()
    }
    #expect(here.statistics.requests + there.statistics.requests == 0)
    await other.close()
    await cache.close()
    // They are no longer in use.
    try directory.age(["there", "here"])
    try await directory.withCache(limit: limit) { cache in
      try await cache.prefetch(directory.url("newer"))
    }
    #expect(try !directory.isWhole("there"))
  }
}
