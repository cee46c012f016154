// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import RefrainPlayer
  import TestSupport
  import Testing

  /// A queue as the listener hears it.
  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(2)))
  struct QueueTests {
    @Test func `Three tracks play completely, in order and without a gap`() async throws {
      try await Listening.with { listening in
        let cold = try await listening.play(listening.tracks)
        #expect(cold.hasEnded && cold.isTheTune)
        #expect(cold.reports.count == 3)

        await listening.origin.stop()
        let offline = try await listening.play(listening.tracks)
        #expect(offline.hasEnded && offline.isTheTune)
        #expect(offline.bytesFromOrigin == 0)
      }
    }

    @Test func `Items chosen with next and previous play completely`() async throws {
      try await Listening.with { listening in
        var number = 0
        let heard = try await listening.play(listening.tracks, isPaused: true) { event, player in
          guard case .started = event else { return }
          number += 1
          switch number {
          case 1: player.next()
          case 2: player.next()
          case 3: player.previous()
          case 4: player.resume()
          default: break
          }
        }
        #expect(heard.hasEnded)
        #expect(heard.reports.count == 5)
        // Samples of skipped items: at most those that were ready.
        let expected = Tracks.samples[1].count + Tracks.samples[2].count
        #expect(heard.framesOfTheEnd * Tune.channels >= expected)
        #expect(heard.samples.count < expected + Tune.sampleRate)
      }
    }

    @Test func `A temporary connection loss neither loses nor repeats a sample`() async throws {
      var configuration = MediaCache.Configuration()
      configuration.retry.attempts = 2
      configuration.retry.firstDelay = .milliseconds(10)
      try await Listening.with(configuration) { listening in
        // Bytes from the second third on are withheld until the player has waited for them.
        let gate = Int64(Tune.wav.count) / 3
        listening.origin.script(
          Listening.path, .on(.all, .drop(at: .resource(gate))))
        var waited = false
        let heard = try await listening.play { event, _ in
          if case .status(.buffering(.network)) = event {
            waited = true
            listening.origin.script(Listening.path, FaultScript())
          }
        }
        #expect(waited)
        #expect(heard.hasEnded && heard.isTheTune)
      }
    }

    @Test func `A connection loss before the first sound loses no sample`() async throws {
      var configuration = MediaCache.Configuration()
      configuration.retry.attempts = 1
      configuration.retry.firstDelay = .milliseconds(1)
      try await Listening.with(configuration) { listening in
        // It ends in half a frame, which a demuxer drops if a read fails.
        listening.origin.script(Listening.path, .on(.first(4), .drop(at: .resource(4098))))
        let heard = try await listening.play()
        #expect(listening.log.requests.count > 4)
        #expect(heard.hasEnded && heard.isTheTune)
      }
    }
  }
#endif
