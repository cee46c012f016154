// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import RefrainPlayer
  import TestSupport
  import Testing

  /// What the listener hears of songs and queues.
  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(2)))
  struct MPVPlaybackTests {
    @Test func `The tune plays cold, and then warm without bytes from the origin`() async throws {
      try await Listening.with { listening in
        let cold = try await listening.play()
        #expect(cold.hasEnded && cold.isTheTune)
        expectOrder(of: cold.events)
        #expect(cold.bytesFromOrigin == Listening.length)
        #expect(listening.log.bodyBytesSent == Listening.length)

        let warm = try await listening.play()
        #expect(warm.hasEnded && warm.isTheTune)
        #expect(warm.bytesFromOrigin == 0)
        let statistics = try #require(warm.reports.last?.statistics)
        #expect(statistics.bytesFromDisk == statistics.bytesRead)
        #expect(listening.log.bodyBytesSent == Listening.length)
      }
    }

    private func expectOrder(of events: [PlayerEvent]) {
      let places = [
        events.firstIndex(of: .status(.loading)),
        events.firstIndex { if case .started = $0 { true } else { false } },
        events.firstIndex { if case .finished = $0 { true } else { false } },
      ].map { $0 ?? -1 }
      #expect(places[0] >= 0 && places[0] < places[1] && places[1] < places[2])
      let playing = events.firstIndex(of: .status(.playing)) ?? .max
      #expect(playing < places[2])
      let durations = events.compactMap { event in
        if case .duration(let time?) = event { time / .seconds(1) } else { nil as Double? }
      }
      let seconds = Double(Tune.samples.count) / Double(Tune.sampleRate * Tune.channels)
      #expect(abs((durations.last ?? 0) - seconds) < 0.01)
    }

    @Test(arguments: [0.0, 0.5, 3.217, 7, 12, 13.9])
    func `A seek lands within fifty milliseconds`(of target: Double) async throws {
      try await Listening.with { listening in
        var hasSought = false
        let heard = try await listening.play(isPaused: true) { event, player in
          switch event {
          case .started where !hasSought:
            hasSought = true
            player.seek(to: .seconds(target))
          case .seekCompleted: player.resume()
          default: break
          }
        }
        #expect(heard.hasEnded)
        let rest = Tune.samples.count / Tune.channels - Int(target * Double(Tune.sampleRate))
        #expect(abs(heard.framesOfTheEnd - rest) <= Tune.sampleRate / 20)
        let places = heard.events.compactMap { event in
          if case .seekCompleted(let place) = event { place / .seconds(1) } else { nil as Double? }
        }
        #expect(places.count == 1 && abs((places.first ?? -1) - target) <= 0.05)
      }
    }

    @Test func `A seek to delayed bytes waits for them`() async throws {
      try await Listening.with { listening in
        let late: Int64 = 2_000_000
        listening.origin.script(
          Listening.path,
          .on(.all, .stall(at: .resource(late), for: .milliseconds(900)))
            .on(.where { $0.firstByte >= late }, .delay(.milliseconds(900))))
        var configuration = Player.Configuration()
        configuration.fill = .onDemand
        let player = try await listening.player(configuration)
        let events = player.events()
        player.play(listening.media)
        var places: [Duration] = []
        for await event in events {
          if case .started = event { player.seek(to: .seconds(12)) }
          if case .seekCompleted(let place) = event { places.append(place) }
          if case .finished = event { Issue.record("it ended") }
          if case .position(let position) = event, !places.isEmpty, position > .seconds(12.3) {
            break
          }
        }
        #expect(places.count == 1)
        await player.close()
      }
    }

    @Test
    func `A playlist in place of media fails, and its entries are not fetched`() async throws {
      try await Listening.with { listening in
        let other = listening.origin.url("/other.wav")
        listening.origin.serve(Tune.resource, at: "/other.wav")
        listening.origin.serve(
          OriginResource(.bytes("#EXTM3U\n\(other.absoluteString)\n".utf8)), at: "/list.m3u8")
        let heard = try await listening.play([Media(listening.origin.url("/list.m3u8"))])
        #expect(heard.failure != nil)
        #expect(listening.origin.log("/other.wav").requests.isEmpty)
      }
    }

    @Test func `A local file plays without the cache`() async throws {
      try await Listening.with { listening in
        let file = listening.directory.appending(path: "a tune, 100 % – ü.wav")
        try Tune.wav.write(to: file)
        let heard = try await listening.play([Media(file)])
        #expect(heard.hasEnded && heard.isTheTune)
        #expect(heard.reports.map(\.statistics) == [nil])
      }
    }

    @Test func `Stopping ends a waiting read`() async throws {
      try await Listening.with { listening in
        listening.origin.script(
          Listening.path, .on(.all, .stall(at: .resource(Listening.length / 2), for: nil)))
        let player = try await listening.player()
        let events = player.events()
        player.play(listening.media)
        for await event in events {
          if case .started = event { player.stop() }
          if event == .status(.idle) { break }
        }
        await player.close()
      }
    }

    // MARK: Queues

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

    // MARK: Lost connections

    @Test func `Three lost connections, which the cache makes again, lose no sample`() async throws
    {
      try await Listening.with { listening in
        listening.origin.script(Listening.path, .on(.first(3), .drop(at: .body(20_000))))
        let heard = try await listening.play()
        #expect(heard.hasEnded && heard.isTheTune)
        #expect(listening.log.requests.count > 3)
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
      try await Listening.with(.impatient) { listening in
        // It ends in half a frame, which a demuxer drops if a read fails.
        listening.origin.script(Listening.path, .on(.first(4), .drop(at: .resource(4098))))
        let heard = try await listening.play()
        #expect(listening.log.requests.count > 4)
        #expect(heard.hasEnded && heard.isTheTune)
      }
    }
  }
#endif
