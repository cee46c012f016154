// SPDX-License-Identifier: MIT
import Refrain
import Testing

@testable import RefrainAVFoundation

#if !canImport(AVFoundation)
  import AVFoundationStandIn
#endif

/// A disk delivers bytes faster than AVFoundation reports that it has enough.
@Suite(.timeLimit(.minutes(1))) struct HandoverTests {
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
        await request.received(Int64(LoadingAnswer.firstBytes))
        await request.cancel()
        #expect(request.currentOffset < 64 << 20)
        player.check()
      }
    }
  #endif
}
