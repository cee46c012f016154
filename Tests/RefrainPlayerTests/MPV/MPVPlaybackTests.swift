// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import RefrainPlayer
  import TestSupport
  import Testing

  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(2)))
  struct MPVPlaybackTests {
    @Test func `The tune plays cold, and then warm without bytes from the origin`() async throws {
      try await Listening.with { listening in
        let cold = try await listening.play()
        #expect(cold.hasEnded && cold.isTheTune)
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

    @Test func `The tune plays completely when the connection drops three times`() async throws {
      try await Listening.with { listening in
        listening.origin.script(Listening.path, .on(.first(3), .drop(at: .body(20_000))))
        let heard = try await listening.play()
        #expect(heard.hasEnded && heard.isTheTune)
        #expect(listening.log.requests.count > 3)
      }
    }

    @Test func `A later start position plays the rest`() async throws {
      try await Listening.with { listening in
        let heard = try await listening.play(start: .seconds(9))
        #expect(heard.hasEnded)
        let expected = Tune.samples.count / Tune.channels - 9 * Tune.sampleRate
        #expect(abs(heard.framesOfTheEnd - expected) <= Tune.sampleRate / 20)
      }
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
            .on(
              .where { request in
                let start = request.range?.dropFirst("bytes=".count).prefix { $0 != "-" }
                return (start.flatMap { Int64($0) } ?? 0) >= late
              }, .delay(.milliseconds(900))))
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

    @Test func `Events come in order`() async throws {
      try await Listening.with { listening in
        let heard = try await listening.play()
        let started = heard.events.firstIndex { if case .started = $0 { true } else { false } }
        let finished = heard.events.firstIndex { if case .finished = $0 { true } else { false } }
        let playing = heard.events.firstIndex(of: .status(.playing))
        let loading = heard.events.firstIndex(of: .status(.loading))
        #expect(try #require(loading) < (try #require(started)))
        #expect((try #require(started)) < (try #require(finished)))
        #expect(try #require(playing) < (try #require(finished)))
        let seconds = Double(Tune.samples.count) / Double(Tune.sampleRate * Tune.channels)
        let durations = heard.events.compactMap { event in
          if case .duration(let time?) = event { time / .seconds(1) } else { nil as Double? }
        }
        #expect(abs((durations.last ?? 0) - seconds) < 0.01)
      }
    }

    @Test func `A missing resource fails with the origin's status`() async throws {
      try await Listening.with { listening in
        listening.origin.script(Listening.path, .on(.all, .status(404)))
        let error = try #require(try await listening.play().failure)
        #expect(error.code == .status)
        #expect(error.status == 404)
      }
    }

    @Test func `A resource that is not media fails with a reason and a remedy`() async throws {
      try await Listening.with { listening in
        listening.origin.serve(.synthetic(seed: 1, length: 100_000), at: Listening.path)
        let error = try #require(try await listening.play().failure)
        #expect(error.reason.contains("tune.wav"))
        #expect(!error.remedy.isEmpty)
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
  }
#endif
