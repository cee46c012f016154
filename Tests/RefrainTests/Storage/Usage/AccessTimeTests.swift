// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// The time of last access follows the cache's clock; its order is that of the uses, even if the
/// clock is set back.
@Suite(.timeLimit(.minutes(1)))
struct AccessTimeTests {
  private let length: Int64 = 1_000_003

  @Test(arguments: [-86_400, 86_400] as [Double])
  func `The last access of an entry follows the cache's clock`(_ jump: Double) async throws {
    let clock = TestClock()
    clock.set(forwardBy: jump)
    try await withCache({ $0.clock = clock.now }) { test in
      test.origin.serve(.synthetic(seed: 1, length: length), at: "/a")
      try await test.cache.prefetch(Resource(url: test.origin.url("/a")))
      let key = CacheKey(url: test.origin.url("/a"))
      try await eventually("it is closed") { test.cache.context.table.isEmpty }
      let used = try #require(try await test.cache.entry(for: key)).lastAccess
      #expect(abs(used.timeIntervalSince(clock.now().wall)) < 1)
    }
  }

  @Test func `Setting the clock back does not evict the most recently used entry`() async throws {
    let clock = TestClock()
    try await withCache({
      $0.clock = clock.now
      $0.limit = 3_400_000
      $0.trustStored = true
    }) { test in
      func prefetch(_ path: String) async throws {
        test.origin.serve(.synthetic(seed: 1, length: length), at: path)
        try await test.cache.prefetch(Resource(url: test.origin.url(path)))
        try await eventually("\(path) is closed") { test.cache.context.table.isEmpty }
        clock.pass(60)
      }
      for path in ["/a", "/b", "/c"] { try await prefetch(path) }
      clock.set(forwardBy: -86_400)
      // Used last, but a day before the others by the clock.
      try await prefetch("/a")
      try await prefetch("/d")
      func isStored(_ path: String) async throws -> Bool {
        try await test.cache.completeFile(for: CacheKey(url: test.origin.url(path))) != nil
      }
      try await #expect(isStored("/a"))
      try await #expect(!isStored("/b"))
      try await #expect(isStored("/c"))
      try await #expect(isStored("/d"))
    }
  }
}
