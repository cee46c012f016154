// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import RefrainPlayer
  import TestSupport
  import Testing

  /// The start positions of items.
  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(3)))
  struct StartTests {
    private static let frames = Tune.samples.count / Tune.channels

    private func expectTheRest(_ heard: Heard, from second: Int) {
      #expect(heard.hasEnded)
      let expected = Self.frames - second * Tune.sampleRate
      #expect(abs(heard.framesOfTheEnd - expected) <= Tune.sampleRate / 20)
      // Nothing else is audible before it.
      #expect(abs(heard.samples.count / Tune.channels - expected) <= Tune.sampleRate / 20)
    }

    @Test func `An item with a start position plays only from there, cold and warm`() async throws {
      for _ in 0..<(TestSeed.isSoak ? 12 : 2) {
        try await Listening.with { listening in
          expectTheRest(try await listening.play(start: .seconds(10)), from: 10)
          for _ in 0..<3 {
            expectTheRest(try await listening.play(start: .seconds(4)), from: 4)
          }
        }
      }
    }

    @Test func `The item after one with a start position begins at its own start`() async throws {
      try await Listening.with { listening in
        let heard = try await listening.play(listening.tracks, start: .seconds(2))
        #expect(heard.hasEnded && heard.reports.count == 3)
        let expected = Self.frames - 2 * Tune.sampleRate
        #expect(abs(heard.framesOfTheEnd - expected) <= Tune.sampleRate / 20)
      }
    }

    @Test func `A start beyond the end is an error that names the length`() async throws {
      try await Listening.with { listening in
        let heard = try await listening.play(start: .seconds(75))
        let error = try #require(heard.failure)
        #expect(error.code == .badRange)
        #expect(error.reason.contains("tune.wav cannot begin at 1:15: it lasts 0:14."))
        #expect(!error.remedy.isEmpty)
        #expect(heard.samples.isEmpty)
      }
    }

    @Test
    func `A start beyond the end fails, and the next item plays from its start`() async throws {
      try await Listening.with { listening in
        let heard = try await listening.play(
          [listening.tracks[0], listening.media], start: .seconds(3600))
        #expect(heard.hasEnded && heard.isTheTune)
        let failures = heard.events.compactMap { event in
          if case .failed(_, let error) = event { error.code } else { nil }
        }
        #expect(failures == [.badRange])
      }
    }

    @Test
    func `A restored session continues at its position and plays nothing before it`() async throws {
      try await Listening.with { listening in
        var queue = PlayQueue()
        queue.append([listening.media])
        let heard = try await listening.play(begin: { player in
          player.restore(PlayerSession(queue: queue, position: 10))
          player.resume()
        })
        expectTheRest(heard, from: 10)
      }
    }
  }
#endif
