// SPDX-License-Identifier: MIT
import Refrain
import Testing

@testable import RefrainAVFoundation

#if !canImport(AVFoundation)
  import AVFoundationStandIn
#endif

/// A disk delivers bytes faster than AVFoundation reports that it has enough.
@Suite(.timeLimit(.minutes(1))) struct HandoverTests {
  private let start = ContinuousClock.now

  @Test func `The first bytes are handed over at once, the rest in steps`() {
    var pace = HandoverPace()
    var given = 0
    var now = start
    // A disk without latency, in pieces of 256 KiB.
    while given < 400 << 20 {
      given += 256 << 10
      if let next = pace.resumption(after: 256 << 10, now: now) {
        #expect(next - now == .milliseconds(100))
        now = next
      } else if given <= 16 << 20 {
        #expect(now == start)
      }
    }
    #expect(now - start == .milliseconds(100) * ((400 - 16) / 8 + 1))
  }

  @Test func `A slow source is not delayed further`() {
    var pace = HandoverPace()
    var now = start
    #expect(pace.resumption(after: 16 << 20, now: now) == start + .milliseconds(100))
    now += .milliseconds(150)
    for _ in 0..<10 {
      // 8 MiB take longer than a step may.
      now += .milliseconds(150)
      #expect(pace.resumption(after: 8 << 20, now: now) == nil)
    }
  }

  #if !canImport(AVFoundation)
    @Test func `A stored resource is handed over completely, in steps`() async throws {
      try await withAssets { test in
        let length: Int64 = 64 << 20
        test.serve(length)
        try await test.cache.prefetch(test.resource())
        let asset = test.cache.asset(for: test.resource())
        #expect(await asset.standInRequest(.information()).end().isFinished)
        let begin = ContinuousClock.now
        let request = asset.standInRequest(.toEnd(from: 0))
        #expect(await request.end().isFinished)
        #expect(request.currentOffset == length)
        #expect(ContinuousClock.now - begin >= .milliseconds(500))
      }
    }

    @Test func `A request cancelled during a pause ends before its last byte`() async throws {
      try await withAssets { test in
        test.serve(64 << 20)
        try await test.cache.prefetch(test.resource())
        let player = test.player()
        try await player.ask()
        let request = try player.request(.toEnd(from: 0))
        await request.received(Int64(HandoverPace.head))
        await request.cancel()
        #expect(request.currentOffset < 64 << 20)
        player.check()
      }
    }
  #endif
}
