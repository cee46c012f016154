// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import RefrainPlayer
  import Testing

  @Suite(.timeLimit(.minutes(2)))
  struct MPVPlaybackTests {
    @Test func tuneIsHeardColdAndThenWarmWithoutTheOrigin() async throws {
      try await Listening.with { listening in
        let cold = try await listening.play()
        #expect(cold.hasEnded && cold.isTheTune)
        #expect(cold.statistics.bytesFromOrigin == Listening.length)
        #expect(listening.log.bodyBytesSent == Listening.length)

        let warm = try await listening.play()
        #expect(warm.hasEnded && warm.isTheTune)
        #expect(warm.statistics.bytesFromOrigin == 0)
        #expect(warm.statistics.bytesFromDisk == warm.statistics.bytesRead)
        #expect(listening.log.bodyBytesSent == Listening.length)
      }
    }

    @Test func tuneIsHeardWholeWhereTheConnectionDropsThreeTimes() async throws {
      try await Listening.with { listening in
        listening.origin.script(Listening.path, .on(.first(3), .drop(at: .body(20_000))))
        let heard = try await listening.play()
        #expect(heard.hasEnded && heard.isTheTune)
        #expect(listening.log.requests.count > 3)
      }
    }

    @Test func startingLaterHearsTheRest() async throws {
      try await Listening.with { listening in
        let heard = try await listening.play(start: .seconds(9))
        #expect(heard.hasEnded)
        let expected = Tune.samples.count / Tune.channels - 9 * Tune.sampleRate
        #expect(abs(heard.framesOfTheEnd - expected) <= 1)
        #expect(heard.samples.count == heard.framesOfTheEnd * Tune.channels)
      }
    }

    @Test func seekingGoesOnFromThere() async throws {
      try await Listening.with { listening in
        var hasSought = false
        let heard = try await listening.play { event, engine in
          if case .started = event, !hasSought {
            hasSought = true
            engine.seek(to: .seconds(12))
          }
        }
        #expect(heard.hasEnded)
        let rest = Tune.samples.count / Tune.channels - 12 * Tune.sampleRate
        #expect(heard.framesOfTheEnd >= rest - 1)
      }
    }

    @Test func eventsComeInOrder() async throws {
      try await Listening.with { listening in
        let heard = try await listening.play()
        let started = heard.events.firstIndex { if case .started = $0 { true } else { false } }
        let position = heard.events.firstIndex { if case .position = $0 { true } else { false } }
        #expect(try #require(started) < position ?? .max)
        let seconds = Double(Tune.samples.count) / Double(Tune.sampleRate * Tune.channels)
        let durations = heard.events.compactMap { event in
          if case .duration(let time) = event { time / .seconds(1) } else { nil as Double? }
        }
        #expect(abs((durations.last ?? 0) - seconds) < 0.01)
        #expect(heard.events.filter(\.isLast).count == 1)
      }
    }

    @Test func missingResourceFailsWithWhatTheOriginSaid() async throws {
      try await Listening.with { listening in
        listening.origin.script(Listening.path, .on(.all, .status(404)))
        let heard = try await listening.play()
        guard case .failed(let error) = try #require(heard.events.last) else {
          Issue.record("did not fail: \(heard.events)")
          return
        }
        #expect(error.code == .status)
        #expect(error.status == 404)
      }
    }

    @Test func whatIsNoMediaFailsInWords() async throws {
      try await Listening.with { listening in
        listening.origin.serve(.synthetic(seed: 1, length: 100_000), at: Listening.path)
        let heard = try await listening.play()
        guard case .failed(let error) = try #require(heard.events.last) else {
          Issue.record("did not fail: \(heard.events)")
          return
        }
        #expect(error.reason.contains("tune.wav"))
        #expect(!error.remedy.isEmpty)
      }
    }

    @Test func playlistIsNotFollowedAroundTheCache() async throws {
      try await Listening.with { listening in
        let other = listening.origin.url("/other.wav")
        listening.origin.serve(Tune.resource, at: "/other.wav")
        listening.origin.serve(
          OriginResource(.bytes("#EXTM3U\n\(other.absoluteString)\n".utf8)), at: "/list.m3u8")
        let engine = try await MPVEngine(output: .silent)
        let playback = engine.load(
          Resource(url: listening.origin.url("/list.m3u8")), from: listening.cache)
        var last: PlaybackEvent?
        for await event in playback.events { last = event }
        await engine.close()
        guard case .failed = last else {
          Issue.record("did not fail: \(String(describing: last))")
          return
        }
        #expect(listening.origin.log("/other.wav").requests.isEmpty)
      }
    }

    @Test func stoppingEndsAReadThatWaits() async throws {
      try await Listening.with { listening in
        listening.origin.script(
          Listening.path, .on(.all, .stall(at: .resource(Listening.length / 2), for: nil)))
        let engine = try await MPVEngine(output: .silent)
        let playback = engine.load(listening.resource, from: listening.cache)
        var last: PlaybackEvent?
        for await event in playback.events {
          if case .started = event { engine.stop() }
          last = event
        }
        #expect(last == .stopped)
        await engine.close()
      }
    }

    @Test func loadingAnotherStopsTheFirst() async throws {
      try await Listening.with { listening in
        let engine = try await MPVEngine(output: .silent)
        let first = engine.load(listening.resource, from: listening.cache, paused: true)
        let second = engine.load(listening.resource, from: listening.cache, paused: true)
        var last: PlaybackEvent?
        for await event in first.events { last = event }
        #expect(last == .stopped)
        await engine.close()
        for await event in second.events { last = event }
        #expect(last == .stopped)
        let late = engine.load(listening.resource, from: listening.cache)
        for await event in late.events { last = event }
        #expect(last == .stopped)
      }
    }

    @Test func pausedPlaybackWaitsForPlay() async throws {
      try await Listening.with { listening in
        let engine = try await MPVEngine(output: .silent)
        let playback = engine.load(
          listening.resource, from: listening.cache, start: .seconds(13.5), paused: true)
        var last: PlaybackEvent?
        for await event in playback.events {
          if case .duration = event { engine.play() }
          last = event
        }
        #expect(last == .ended)
        await engine.close()
      }
    }
  }
#endif
