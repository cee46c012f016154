// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import Refrain
  import Testing
  import TestSupport

  @testable import RefrainPlayer

  /// A player over AVPlayer's engine during a call.
  @MainActor @Suite(.timeLimit(.minutes(1))) struct PlayerInterruptionTests {
    private func playing(
      _ listening: AppleListening, _ body: (Player) async throws -> Void
    ) async throws {
      let player = Player(cache: listening.cache, engine: listening.engine)
      player.play([listening.item(seconds: 100).media])
      try await eventually("it plays") {
        player.status == .playing && listening.engine.player.timeControlStatus == .playing
      }
      try await body(player)
      await player.close()
    }

    @Test func `The end of a call resumes a player that the call paused`() async throws {
      try await AppleListening.with { listening in
        try await playing(listening) { player in
          listening.session.standInInterrupt()
          try await eventually("paused") { player.status == .paused }
          #expect(listening.engine.player.rate == 0)
          listening.session.standInEndInterruption(shouldResume: true)
          try await eventually("plays") {
            player.status == .playing && listening.engine.player.rate == 1
          }
        }
      }
    }

    @Test func `A player paused during a call stays paused after it`() async throws {
      try await AppleListening.with { listening in
        try await playing(listening) { player in
          listening.session.standInInterrupt()
          try await eventually("paused") { player.status == .paused }
          player.pause()
          listening.session.standInEndInterruption(shouldResume: true)
          await listening.pass(2)
          #expect(player.status == .paused && listening.engine.player.rate == 0)
        }
      }
    }
  }
#endif
