// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

/// Entries that another process has removed since they were measured.
@Suite(.timeLimit(.minutes(1))) struct GoneEntriesTests {
  private let directory = CacheDirectory(length: 300_000)

  @Test func `Room is made behind any number of entries that are gone, without another scan`()
    async throws
  {
    try await directory.withCache(limit: 1 << 20) { cache in
      try await cache.prefetch(directory.url("old"))
      while await cache.budget.rescan() {}
      cache.budget.index.withLock { index in
        for number in 0..<5000 {
          index.note(
            MeasuredEntry(name: "gone-\(number)", lastAccess: 1000, allocatedBytes: 4096))
        }
      }
      #expect(await cache.evictor.makeRoom(for: 900_000))
    }
  }
}
