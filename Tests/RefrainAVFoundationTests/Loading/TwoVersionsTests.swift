// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import OriginServer
  import Refrain
  import RefrainAVFoundation
  import Testing

  /// A resource that changes at the origin while it plays.
  @Suite(.timeLimit(.minutes(1))) struct TwoVersionsTests {
    @Test func `A player never receives bytes of two versions`() async throws {
      try await withAssets { test in
        test.serve(3_000_000)
        let player = test.player()
        try await player.ask()
        #expect(await (try player.request(.bytes(200_000, at: 0))).end().isFinished)

        var changed = OriginResource.synthetic(seed: 99, length: 3_000_000)
        changed.contentType = "audio/wav"
        test.origin.serve(changed, at: "/song.wav")
        // Elsewhere in the resource, the origin reports that it has changed.
        let error = await (try player.request(.bytes(1000, at: 2_000_000))).end().error as? NSError
        #expect(
          (error?.userInfo[NSUnderlyingErrorKey] as? MediaCacheError)?.code == .resourceChanged)
        // Stored bytes of the old version play on, and no bytes of the new one come in between.
        #expect(await (try player.request(.bytes(200_000, at: 0))).end().isFinished)
        #expect(await (try player.request(.bytes(10, at: 2_500_000))).end().error != nil)
        player.check()

        let next = CheckedPlayer(
          test.cache.asset(for: test.resource()), bytes: SyntheticBytes(seed: 99))
        try await next.ask()
        #expect(await (try next.request(.toEnd(from: 0))).end().isFinished)
        next.check()
      }
    }
  }
#endif
