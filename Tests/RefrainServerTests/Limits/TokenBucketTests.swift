// SPDX-License-Identifier: MIT
import TestSupport
import Testing

@testable import RefrainServer

struct TokenBucketTests {
  @Test func `A full bucket gives its capacity at once, and then as it grows`() {
    var bucket = TokenBucket(rate: 2, capacity: 3, at: 10)
    for _ in 0..<3 { #expect(bucket.take(1, at: 10) == nil) }
    #expect(bucket.take(1, at: 10) == 0.5)
    #expect(bucket.take(1, at: 10.25) == 0.25)
    #expect(bucket.take(1, at: 10.5) == nil)
    #expect(bucket.take(1, at: 10.5) == 0.5)
  }

  @Test func `A long pause gives no more than the capacity`() {
    var bucket = TokenBucket(rate: 100, capacity: 2, at: 0)
    #expect(bucket.take(2, at: 1_000_000) == nil)
    #expect(bucket.take(1, at: 1_000_000) == 0.01)
  }

  @Test func `A debt is repaid before anything is free again`() {
    var bucket = TokenBucket(rate: 10, capacity: 5, at: 0)
    #expect(bucket.spend(5, at: 0) == 0)
    #expect(bucket.spend(20, at: 0) == 2)
    #expect(bucket.spend(10, at: 1) == 2)
    #expect(bucket.take(1, at: 3) == 0.1)
    #expect(!bucket.isFull(at: 3.4))
    #expect(bucket.isFull(at: 3.5))
  }

  @Test func `A clock that goes back takes nothing away and gives nothing`() {
    var bucket = TokenBucket(rate: 1, capacity: 2, at: 100)
    #expect(bucket.take(1, at: 50) == nil)
    #expect(bucket.take(1, at: 60) == nil)
    #expect(bucket.take(1, at: 100) == 1)
  }

  @Test func `In the long run no more is given than the rate`() {
    let seed = TestSeed.next()
    var random = SeededGenerator(seed: seed)
    var bucket = TokenBucket(rate: 7, capacity: 20, at: 0)
    var (now, given) = (0.0, 0.0)
    for _ in 0..<5000 {
      now += Double.random(in: 0..<0.3, using: &random)
      let count = Double.random(in: 0..<10, using: &random)
      if let wait = bucket.take(count, at: now) {
        #expect(wait > 0, "seed \(seed)")
      } else {
        given += count
      }
      #expect(given <= 20 + 7 * now + 1e-6, "seed \(seed)")
    }
    // Requests for more than the rate receive all of it, within one request.
    #expect(given >= 7 * now - 10, "seed \(seed)")
  }
}
