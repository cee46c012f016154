// SPDX-License-Identifier: MIT
#if os(Linux)
  import Testing

  @testable import Refrain

  /// The pool that bounds how much a killed process loses, with exchanges that start and end at any
  /// moment.
  struct BufferPoolTests {
    private static let size = 144 << 10
    private static let smallest = 16 << 10

    @Test func `A single exchange receives the largest part`() {
      var pool = BufferPool()
      pool.exchangeBegan()
      #expect(pool.renew(0, unstored: 0).limit == 80 << 10)
      #expect(pool.renew(80 << 10, unstored: 80 << 10).limit == 80 << 10)
      #expect(pool.renew(80 << 10, unstored: 0, atMost: 64 << 10) == (64 << 10, 64 << 10))
    }

    @Test func `Long-running exchanges receive equal parts`() {
      var pool = BufferPool()
      var parts = [0, 0, 0]
      for _ in parts { pool.exchangeBegan() }
      for _ in 0..<2 {
        for index in parts.indices { parts[index] = pool.renew(parts[index], unstored: 0).part }
      }
      #expect(parts == [48 << 10, 48 << 10, 48 << 10])
    }

    /// The bytes of an exchange that received everything may still be on their way to the disk.
    @Test func `An exchange holds its unstored bytes until it ends`() {
      var pool = BufferPool()
      pool.exchangeBegan()
      let (_, first) = pool.renew(0, unstored: 0)
      pool.reduce(first, to: first)
      pool.exchangeBegan()
      #expect(pool.renew(0, unstored: 0).limit == 64 << 10)
      pool.exchangeEnded(holding: first)
      #expect(pool.held == 64 << 10)
      #expect(pool.exchanges == 1)
    }

    /// A part may be larger than the fair one, from a time with fewer exchanges: a later exchange
    /// gets the rest of the pool, or the smallest part.
    @Test(arguments: 1...12)
    func `Exchanges that start at random moments hold little more than the pool`(count: Int) {
      let seed = UInt64.random(in: 0...UInt64.max)
      var random = SeededGenerator(seed: seed)
      var pool = BufferPool()
      var parts: [Int] = []
      for _ in 0..<2000 {
        switch Int.random(in: 0..<4, using: &random) {
        case 0 where parts.count < count:
          pool.exchangeBegan()
          parts.append(0)
        case 1 where !parts.isEmpty:
          let index = Int.random(in: parts.indices, using: &random)
          pool.exchangeEnded(holding: parts.remove(at: index))
        case 2 where !parts.isEmpty:
          let index = Int.random(in: parts.indices, using: &random)
          let unstored = Int.random(in: 0...parts[index], using: &random)
          pool.reduce(parts[index], to: unstored)
          parts[index] = unstored
        case _ where !parts.isEmpty:
          let index = Int.random(in: parts.indices, using: &random)
          let unstored = Int.random(in: 0...parts[index], using: &random)
          parts[index] = pool.renew(parts[index], unstored: unstored).part
        default: continue
        }
        #expect(pool.held == parts.reduce(0, +), "seed \(seed)")
        #expect(pool.held <= Self.size + (count - 1) * Self.smallest, "seed \(seed)")
      }
    }
  }
#endif
