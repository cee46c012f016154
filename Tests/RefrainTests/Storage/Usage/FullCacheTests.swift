// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks
import Testing

@testable import Refrain

/// Who waits for room in a full cache, and for how much of it.
@Suite(.timeLimit(.minutes(1)))
struct FullCacheTests {
  private let directory = CacheDirectory(length: 2000)

  @Test func `A first byte waits for its own room alone, and a later one for that of many`()
    async throws
  {
    let names = (0..<250).map { "old-\($0)" }
    try await directory.fill(names)
    let cache = try directory.cache(limit: 256 << 20)
    let budget = cache.budget
    await budget.startScan().value
    // On some file systems, directories take none.
    let old = KeyHash.name(of: CacheKey(url: try directory.url("old-0")))
    let size = try await IOThreads.background.run { try budget.measure(old)?.allocatedBytes ?? 0 }
    // As if other entries filled the cache.
    budget.usage.update { $0.used = budget.usableLimit ?? 0 }
    let reader = try await cache.open(directory.url("new"))
    try await directory.expectToPlay(from: reader)
    // Besides the bytes, room for the files of the new one is reserved.
    let left = try directory.stored(of: names).count
    #expect((240..<250).contains(left))
    let (evictor, generation) = (cache.evictor, reader.generation)
    try await eventually("the bytes are recorded") {
      !generation.withState(\.stored).isEmpty
    }
    let isThere = await Task(executorPreference: IOThreads.shared) {
      await evictor.reserve(1 << 20, for: generation)
    }.value
    #expect(isThere)
    budget.settle(1 << 20, actual: 0, for: generation.entry.name)
    // Those for the bytes themselves, and others up to 100: not all, of which each takes its time.
    let rest = try directory.stored(of: names).count
    let needed = Int((1 << 20) / max(size, 1))
    #expect((max(needed, 100) - 10...max(needed, 100) + 10).contains(left - rest))
    reader.cancel()
    await cache.close()
  }

  @Test func `A prefetch measures again before it reports that there is no room`() async throws {
    try await directory.fill(["a"])
    let cache = try directory.cache(limit: 4 << 20)
    try await cache.pin(directory.url("a"))
    await cache.budget.startScan().value
    // It took long, so that none follows soon for anything else.
    cache.budget.index.withLock { index in
      index.beginScan()
      index.endScan(began: .now - .seconds(1))
    }
    // Bytes that were written while they were measured have been counted twice.
    cache.budget.usage.update { $0.used += 8 << 20 }
    try await cache.prefetch(directory.url("new"))
    // Writes the records.
    await cache.close()
    #expect(try directory.stored(of: ["a", "new"]) == ["a", "new"])
  }

  @Test func `Room is made from an entry that only its own work keeps open`() async throws {
    let cache = try directory.cache(limit: 1 << 20)
    let reader = try await cache.open(directory.url())
    try await directory.expectToPlay(from: reader)
    let entry = reader.entry
    // A sync, for example.
    entry.beginTask()
    reader.cancel()
    let asked = Mutex(0)
    let hold = cache.releaseIdleLeases {
      let count = asked.withLock { count in
        count += 1
        return count
      }
      if count == 3 { entry.endTask() }
      return false
    }
    #expect(await cache.setLimit(16 << 10))
    try await #expect(cache.entries().isEmpty)
    cache.forgetIdleLeases(hold)
    await cache.close()
  }
}
