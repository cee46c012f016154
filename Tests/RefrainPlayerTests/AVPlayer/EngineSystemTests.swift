// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import Observation
  import OriginServer
  import Refrain
  import RefrainLocks
  import Testing
  import TestSupport

  @testable import RefrainPlayer

  /// Calls, headphones, other apps, and other code that controls the player.
  @MainActor @Suite(.timeLimit(.minutes(2))) struct EngineSystemTests {
    private func playing(_ listening: AppleListening, isPaused: Bool = false) async throws {
      try await listening.start(listening.item(seconds: 100), isPaused: isPaused)
      await listening.pass(1)
      listening.forget()
    }

    @Test func `The session is activated on play and deactivated on stop`() async throws {
      try await AppleListening.with { listening in
        try await playing(listening, isPaused: true)
        #expect(listening.session.category == .soloAmbient && !listening.session.standInIsActive)
        listening.engine.play()
        try await eventually("activated") { listening.session.standInIsActive }
        #expect(listening.session.category == .playback)
        listening.engine.stop()
        try await eventually("deactivated") { !listening.session.standInIsActive }
      }
    }

    /// Plays an item with a player over the engine, until a call pauses it.
    private func withCall(
      _ body: (AppleListening, Player) async throws -> Void
    ) async throws {
      try await AppleListening.with { listening in
        let player = Player(cache: listening.cache, engine: listening.engine)
        player.play([listening.item(seconds: 100).media])
        try await eventually("it plays") {
          player.status == .playing && listening.engine.player.timeControlStatus == .playing
        }
        listening.session.standInInterrupt()
        try await eventually("paused") { player.status == .paused }
        #expect(listening.engine.player.rate == 0)
        try await body(listening, player)
        await player.close()
      }
    }

    @Test func `A call pauses playback, and its end resumes it`() async throws {
      try await withCall { listening, player in
        let before = player.position
        await listening.pass(5)
        #expect(player.position == before)
        listening.session.standInEndInterruption(shouldResume: true)
        try await eventually("plays") {
          player.status == .playing && listening.engine.player.rate == 1
        }
        await listening.pass(5)
        #expect(player.position == before + .seconds(5))
      }
    }

    @Test func `A player paused during a call stays paused`() async throws {
      try await withCall { listening, player in
        player.pause()
        listening.session.standInEndInterruption(shouldResume: true)
        await listening.pass(2)
        #expect(player.status == .paused && listening.engine.player.rate == 0)
      }
    }

    @Test func `Playback stays paused if the system does not advise resuming`() async throws {
      try await AppleListening.with { listening in
        try await playing(listening)
        listening.session.standInInterrupt()
        listening.session.standInEndInterruption(shouldResume: false)
        await listening.pass(2)
        #expect(listening.pauses == [true] && listening.engine.player.rate == 0)
        // The end of another interruption has no effect.
        listening.session.standInEndInterruption(shouldResume: true)
        await listening.pass(2)
        #expect(listening.pauses == [true])
      }
    }

    @Test func `A player paused before a call stays paused`() async throws {
      try await AppleListening.with { listening in
        try await playing(listening, isPaused: true)
        listening.session.standInInterrupt()
        listening.session.standInEndInterruption(shouldResume: true)
        await listening.pass(2)
        #expect(listening.pauses.isEmpty && listening.engine.player.rate == 0)
      }
    }

    @Test
    func `Unplugging headphones pauses playback, and plugging them in does not`() async throws {
      try await AppleListening.with { listening in
        try await playing(listening)
        listening.session.standInChangeRoute(.newDeviceAvailable)
        await listening.pass(1)
        #expect(listening.pauses.isEmpty)
        listening.session.standInChangeRoute(.oldDeviceUnavailable)
        await listening.pass(1)
        #expect(listening.pauses == [true] && listening.engine.player.rate == 0)
        listening.session.standInEndInterruption(shouldResume: true)
        await listening.pass(1)
        #expect(listening.pauses == [true])
      }
    }

    @Test func `Playback is paused if the session cannot be activated`() async throws {
      try await AppleListening.with { listening in
        try await playing(listening, isPaused: true)
        listening.session.standInRefusal = NSError(domain: NSOSStatusErrorDomain, code: 560_557_684)
        listening.engine.play()
        try await listening.wait("paused") { $0 == .pausedBySystem(true) }
        #expect(listening.engine.player.rate == 0)
      }
    }

    @Test func `A new player continues on play after the media services are reset`() async throws {
      try await AppleListening.with { listening in
        let (one, two) = (listening.item("/a.wav", seconds: 20), listening.item("/b.wav"))
        try await listening.start(one)
        listening.engine.follow(with: two)
        await listening.pass(8)
        listening.forget()
        let before = listening.engine.player
        let isTold = Mutex(false)
        withObservationTracking {
          _ = listening.engine.player
        } onChange: {
          isTold.withLock { $0 = true }
        }
        listening.session.standInResetMediaServices()
        #expect(listening.engine.player !== before && isTold.withLock { $0 })
        #expect(before.standInTimeObserverCount == 0)
        try await listening.wait("it is paused") { $0 == .pausedBySystem(true) }
        try await listening.loaded()
        await listening.pass(5)
        #expect(listening.engine.player.rate == 0 && listening.positions.isEmpty)
        // No interruption from before the reset resumes it.
        listening.session.standInEndInterruption(shouldResume: true)
        await listening.pass(1)
        #expect(listening.pauses == [true] && listening.engine.player.rate == 0)
        listening.forget()
        listening.engine.play()
        try await eventually("it goes on") { listening.engine.player.timeControlStatus == .playing }
        await listening.pass(1)
        #expect(listening.positions.last == .seconds(9))
        await listening.pass(12)
        #expect(
          listening.steps.prefix(2) == [
            .ended(one.id, followedBy: two.id), .began(two.id),
          ])
      }
    }

    @Test
    func `An app's own session is ignored, but AVPlayer's pauses are reported`() async throws {
      try await AppleListening.with { listening in
        let engine = AVPlayerEngine(cache: listening.cache, audio: nil)
        var events: [EngineEvent] = []
        engine.report = { events.append($0) }
        engine.load(listening.item(), at: .zero, isPaused: false)
        try await eventually("it plays") { engine.player.timeControlStatus == .playing }
        await listening.settle()
        listening.session.standInInterrupt()
        await listening.settle()
        #expect(!events.contains(.pausedBySystem(true)))
        engine.player.standInPause(for: .audioSessionInterrupted)
        await listening.settle()
        #expect(events.contains(.pausedBySystem(true)))
        await engine.close()
      }
    }
  }
#endif
