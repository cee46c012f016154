// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// The time of last access follows the cache's clock; its order is that of the uses, even if the
/// clock is set back.
@Suite(.timeLimit(.minutes(1)))
struct AccessTimeTests {
  private let directory = CacheDirectory(length: 1_000_003)

  @Test(arguments: [-86_400, 86_400] as [Double])
  func `The last access of an entry follows the cache's clock`(_ jump: Double) async throws {
    let clock = TestClock()
    clock.set(forwardBy: jump)
    try await directory.withCache({ $0.clock = clock.now }) { cache in
      try await cache.prefetch(directory.url())
      try await eventually("it is closed") { cache.table.isEmpty }
      let used = try #require(try await cache.entry(for: directory.url())).lastAccess
      #expect(abs(used.timeIntervalSince(clock.now().wall)) < 1)
    }
  }

  @Test func `Setting the clock back does not evict the most recently used entry`() async throws {
    let clock = TestClock()
    try await directory.withCache(limit: 3_400_000, { $0.clock = clock.now }) { cache in
      func prefetch(_ name: String) async throws {
        try await cache.prefetch(directory.url(name))
        try await eventually("\(name) is closed") { cache.table.isEmpty }
        clock.pass(60)
      }
      for name in ["a", "b", "c"] { try await prefetch(name) }
      clock.set(forwardBy: -86_400)
      // Used last, but a day before the others by the clock.
      try await prefetch("a")
      try await prefetch("d")
      #expect(try ["a", "b", "c", "d"].filter { try directory.isWhole($0) } == ["a", "c", "d"])
    }
  }
}
