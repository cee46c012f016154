// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import OriginServer
  import Refrain
  import RefrainAVFoundation
  import TestSupport
  import Testing

  /// Observed request sequences of players, over every state that an entry can be in.
  @Suite(.timeLimit(.minutes(TestSeed.minutes(3)))) struct TraceTests {
    /// Traces of which everything can be stored.
    static let small = [
      Trace.mp4, .moovLast, .mp3, .jumping(of: 20_000_000, upTo: 16_000_000),
    ]

    /// Replays a trace, of which every request succeeds.
    private func replay(_ trace: Trace, _ test: AssetTest) async throws -> CheckedPlayer {
      let player = test.player()
      for outcome in try await trace.run(player) { #expect(outcome?.isFinished != false) }
      player.check()
      return player
    }

    @Test(arguments: Trace.all)
    func `A cold cache returns only correct bytes`(_ trace: Trace) async throws {
      try await withAssets { test in
        test.serve(trace.length)
        _ = try await replay(trace, test)
        await test.cache.close()
        let log = try await test.origin.wait(for: "/song.wav") { $0.running == 0 }
        // Only bytes in flight when a request was cancelled come again.
        #expect(log.bytesSentTwice <= 1 << 20)
      }
    }

    @Test(arguments: small)
    func `Bytes already stored are not fetched again`(_ trace: Trace) async throws {
      try await withAssets { test in
        test.serve(trace.length)
        let quarter = trace.length / 4
        try await test.cache.prefetch(test.resource(), range: 0..<quarter)
        try await test.cache.prefetch(test.resource(), range: 2 * quarter..<3 * quarter)
        let stored = try await test.cache.progress(of: test.resource()).spans
        try await test.forgetRequests()
        _ = try await replay(trace, test)
        await test.cache.close()
        let log = try await test.origin.wait(for: "/song.wav") { $0.running == 0 }
        #expect(log.sent.intersection(stored).isEmpty)
      }
    }

    @Test(arguments: small)
    func `A complete entry plays without a request`(_ trace: Trace) async throws {
      try await withAssets {
        $0.trustStored = true
      } _: { test in
        test.serve(trace.length)
        try await test.cache.prefetch(test.resource())
        try await test.forgetRequests()
        let player = try await replay(trace, test)
        #expect(player.log.information?.isEntireLengthAvailableOnDemand == true)
        #expect(test.origin.log("/song.wav").requests.isEmpty)
      }
    }

    @Test(arguments: small)
    func `A complete entry plays offline after a relaunch`(_ trace: Trace) async throws {
      try await withAssets { test in
        test.serve(trace.length)
        try await test.cache.prefetch(test.resource())
        try await test.forgetRequests()
        try await test.relaunched {
          $0.offline = true
        } _: { test in
          _ = try await replay(trace, test)
          #expect(test.origin.log("/song.wav").requests.isEmpty)
        }
      }
    }

    @Test func `Offline, stored bytes play, then a missing network is reported`() async throws {
      try await withAssets { test in
        let trace = Trace.jumping(of: 158_008_374, upTo: 24_930_000)
        test.serve(trace.length)
        try await trace.run(test.player())
        try await test.relaunched {
          $0.offline = true
        } _: { test in
          let player = test.player()
          let information = try await player.ask()
          #expect(information.contentLength == trace.length)
          #expect(!information.isEntireLengthAvailableOnDemand)
          let request = try player.request(.toEnd(from: 0))
          let error = await request.end().error as? NSError
          #expect(request.currentOffset >= 24_930_000)
          #expect(error?.domain == NSURLErrorDomain)
          #expect(error?.code == URLError.notConnectedToInternet.rawValue)
          #expect((error?.userInfo[NSUnderlyingErrorKey] as? MediaCacheError)?.code == .offline)
          player.check()
        }
      }
    }

    @Test(arguments: small)
    func `Every byte is correct despite random network faults`(_ trace: Trace) async throws {
      let seed = TestSeed.next()
      print("REFRAIN_SEED=\(seed) (\(trace.name) with faults)")
      for round in 0..<(TestSeed.isSoak ? 100 : 4) as Range<UInt64> {
        try await withAssets {
          $0.retry.attempts = 50
          $0.retry.firstAttempts = 50
        } _: { test in
          test.serve(trace.length)
          test.origin.script("/song.wav", .random(seed: seed &+ round, requests: 24))
          let player = test.player()
          for outcome in try await trace.run(player) {
            #expect(outcome?.isFinished != false, "\(String(describing: outcome)), round \(round)")
          }
          player.check("round \(round)")
        }
      }
    }

    @Test(arguments: Trace.all)
    func `Every request reports an unreachable origin`(_ trace: Trace) async throws {
      try await withAssets {
        $0.retry.attempts = 2
      } _: { test in
        test.serve(trace.length)
        await test.origin.stopListening()
        let player = test.player()
        for outcome in try await trace.run(player) {
          let error = outcome?.error as? NSError
          #expect(error?.domain == NSURLErrorDomain)
          #expect(error?.code == URLError.cannotConnectToHost.rawValue)
        }
        player.check()
      }
    }
  }
#endif
