// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import OriginServer
  import Refrain
  import Testing
  import TestSupport

  @testable import RefrainPlayer

  @MainActor @Suite(.timeLimit(.minutes(2))) struct EngineSeekTests {
    private func isSought(_ event: EngineEvent, _ serial: Int) -> Bool {
      if case .seekCompleted(_, serial, _) = event { true } else { false }
    }

    @Test func `A seek is exact and reported once`() async throws {
      try await AppleListening.with { listening in
        let item = listening.item(seconds: 100)
        try await listening.start(item)
        await listening.pass(1)
        listening.forget()
        let target = Duration.microseconds(42_123_456)
        listening.engine.seek(to: target, serial: 1)
        try await listening.wait("sought") { isSought($0, 1) }
        await listening.settle()
        #expect(
          listening.steps == [
            .seekCompleted(item.id, serial: 1, at: target)
          ])
        await listening.pass(1)
        #expect((listening.positions.first ?? .zero) > target)
      }
    }

    @Test
    func `A seek to missing bytes stays pending, and a later seek overtakes it`() async throws {
      try await AppleListening.with { listening in
        let item = listening.item(seconds: 1000)
        listening.origin.script("/a.wav", .nothingBeyond(500_000))
        listening.engine.load(item, at: .zero, isPaused: false)
        try await listening.waitForReady(item)
        listening.engine.seek(to: .seconds(900), serial: 1)
        await listening.pass(2)
        #expect(!listening.events.contains { isSought($0, 1) })
        listening.forget()
        await listening.pass(5)
        #expect(listening.positions.isEmpty, "no position is told while it is on its way")
        // Another seek overtakes this one.
        listening.engine.seek(to: .seconds(100), serial: 2)
        try await listening.wait("sought") { isSought($0, 2) }
        #expect(!listening.events.contains { isSought($0, 1) })
        await listening.pass(1)
        #expect(listening.positions.last == .seconds(101))
        listening.origin.release("/a.wav")
      }
    }
  }

  /// The times of media, as AVFoundation has them.
  @Suite struct MediaTimeTests {
    @Test(arguments: [
      Duration.zero, .microseconds(1), .milliseconds(1500), .seconds(86_400), .seconds(-3),
    ])
    func `A duration survives conversion to media time and back`(_ duration: Duration) {
      #expect(Duration(duration.mediaTime) == duration)
    }

    @Test func `A media time that is not numeric has no duration`() {
      #expect(Duration(.indefinite) == nil)
      #expect(Duration(.invalid) == nil)
      #expect(Duration(.positiveInfinity) == nil)
      #expect(Duration(CMTime(value: 1, timescale: 0)) == nil)
    }

    @Test func `Extreme times are converted without a crash`() {
      for seconds in [Int64.max, .min, 1 << 50] {
        #expect(Duration.seconds(seconds).mediaTime.isNumeric)
      }
      #expect(Duration(CMTime(value: .max, timescale: 1)) == .seconds(Int64.max))
      #expect(Duration(CMTime(value: 1, timescale: 3)) != nil)
    }
  }
#endif
