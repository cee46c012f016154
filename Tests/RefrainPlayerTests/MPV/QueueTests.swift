// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import RefrainPlayer
  import Testing

  /// A queue as it is heard.
  @MainActor
  @Suite(.timeLimit(.minutes(2)))
  struct QueueTests {
    @Test func threeTracksAreHeardWholeInOrderAndWithoutAGap() async throws {
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

    @Test func nextInTheMiddleHearsTheOthersFromTheirStart() async throws {
      try await Listening.with { listening in
        var hasSkipped = false
        let heard = try await listening.play(listening.tracks) { event, player in
          if case .started = event, !hasSkipped {
            hasSkipped = true
            player.next()
          }
        }
        #expect(heard.hasEnded)
        let others = Tracks.samples[1].count + Tracks.samples[2].count
        #expect(heard.framesOfTheEnd >= others / Tune.channels)
        #expect(heard.framesOfTheEnd * Tune.channels < Tune.samples.count)
      }
    }

    @Test func previousAtTheStartOfATrackHearsTheOneBeforeItAgain() async throws {
      try await Listening.with { listening in
        var hasGoneBack = false
        let heard = try await listening.play(listening.tracks) { event, player in
          guard case .started(let item, _) = event, item.media.title == "Part 2", !hasGoneBack
          else {
            return
          }
          hasGoneBack = true
          player.previous()
        }
        #expect(heard.hasEnded)
        #expect(heard.framesOfTheEnd * Tune.channels >= Tune.samples.count)
        #expect(heard.samples.count >= Tune.samples.count + Tracks.samples[0].count)
        #expect(heard.reports.count == 5)
      }
    }

    @Test func connectionThatIsGoneForSomeTimeCostsNoSampleAndDoublesNone() async throws {
      var configuration = Configuration()
      configuration.retry.attempts = 2
      configuration.retry.firstDelay = .milliseconds(10)
      try await Listening.with(configuration) { listening in
        // From the second third on nothing can be had, until it was waited for.
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
        #expect(listening.log.bodyBytesSent == Listening.length)
      }
    }
  }
#endif
