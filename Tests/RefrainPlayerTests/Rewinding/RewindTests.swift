// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// Pausing and rewinding a station, as libmpv plays it. Its sound arrives hundreds of times
  /// faster than it lasts, and each sample says its place.
  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(5)))
  struct RewindTests {
    private static let rate = NumberedFrames.wavRate

    /// More than libmpv buffers before it writes sound to a file: 2 × 65,536 samples.
    private static let buffered = Duration.seconds(40)

    /// Plays until `act` returns false. Returns the runs of samples that were heard.
    private func runs(
      _ listening: Listening, _ radio: Media, keeping rewind: Int64 = 256 << 20,
      act: (PlayerEvent, Player) -> Bool
    ) async throws -> [Range<Int>] {
      let file = listening.directory.appending(path: "heard.wav")
      var configuration = Player.Configuration()
      configuration.rewind = rewind
      let player = Player(
        cache: listening.cache,
        engine: try await MPVEngine(cache: listening.cache, output: .wavFile(file)),
        configuration: configuration)
      #expect(player.capabilities.rewind)
      let events = player.events()
      player.play(radio)
      for await event in events {
        switch event {
        case .failed, .seekRefused, .duration(.some): Issue.record("\(event)")
        default: break
        }
        if !act(event, player) { break }
      }
      await player.close()
      return NumberedFrames.runs(try WAVFile(file).samples)
    }

    @Test
    func `Ten minutes in, back eight, a pause, and forward to the present lose no sample`()
      async throws
    {
      try await Listening.with { listening in
        let radio = listening.serveStation(seconds: 1500)
        let release = listening.holdStation(at: 605, 805, 1205, 1490)
        var targets: [Duration] = []
        var arrivals: [Duration] = []
        var titles: [String] = []
        var pauses = 0
        let runs = try await runs(listening, radio) { event, player in
          switch event {
          case .liveWindow(let window?):
            #expect(window.start == .zero)
            if pauses == 1, !player.wantsToPlay, window.end >= .seconds(800) {
              // The station was received further.
              player.resume()
            } else if pauses == 2, targets.count == 1, window.end >= .seconds(1200) {
              // Events may be older than the player's properties.
              targets.append((player.liveWindow ?? window).live)
              player.seekToLive()
              release()
            }
          case .seekCompleted(let position):
            arrivals.append(position)
            if arrivals.count == 1 {
              pauses = 1
              player.pause()
              release()
            } else {
              player.resume()
            }
          case .position(let position):
            if let first = arrivals.first, pauses == 1, player.wantsToPlay,
              position > first + Self.buffered
            {
              pauses = 2
              player.pause()
              release()
            }
            if arrivals.count == 2, position > arrivals[1] + Self.buffered,
              player.metadata.streamTitle == "Second"
            {
              return false
            }
          case .metadata(let metadata):
            if let title = metadata.streamTitle, titles.last != title { titles.append(title) }
          default: break
          }
          // The second title is heard first, however slowly the sound is written.
          if targets.isEmpty, titles.last == "Second", let window = player.liveWindow,
            window.end >= .seconds(600)
          {
            targets.append(window.end - .seconds(480))
            player.seek(to: targets[0])
          }
          return true
        }
        try #require(runs.count == 3 && arrivals.count == 2, "\(runs), \(arrivals)")
        #expect(runs[0].lowerBound == 0)
        for (run, target) in zip(runs.dropFirst(), targets) {
          let start = Double(run.lowerBound) / Double(Self.rate)
          #expect((0...0.25).contains(target / .seconds(1) - start))
        }
        #expect(runs[1].count > 20 * Self.rate && runs[2].lowerBound > runs[1].upperBound)
        // The titles are those of the sound.
        #expect(titles == ["First", "Second", "First", "Second"])
        // Its connection may end in the pause.
        #expect(listening.origin.log("/radio").requests.count <= 2)
      }
    }

    @Test func `A seek back while sound is awaited ends the wait`() async throws {
      try await Listening.with { listening in
        let radio = listening.serveStation(seconds: 200)
        _ = listening.holdStation(at: 100)
        var hasSought = false
        _ = try await runs(listening, radio) { event, player in
          switch event {
          case .status(.buffering(.bytes)):
            guard !hasSought, let window = player.liveWindow, window.end > .seconds(95) else {
              break
            }
            hasSought = true
            player.seek(to: .seconds(20))
          case .status(.playing): return !hasSought
          default: break
          }
          return true
        }
        #expect(hasSought)
      }
    }

    /// 60 seconds of sound, and the packets' own.
    private static let room: Int64 = 1 << 20

    @Test func `A pause longer than there is room for goes on where it began`() async throws {
      try await Listening.with { listening in
        let radio = listening.serveStation(seconds: 1500)
        var pausedAt: Duration?
        var isResumed = false
        let runs = try await runs(listening, radio, keeping: Self.room) { event, player in
          switch event {
          case .position(let position):
            if pausedAt == nil, position > .seconds(200) {
              pausedAt = position
              player.pause()
            }
            return position < .seconds(600)
          case .liveWindow(let window?):
            #expect(window.end - window.start <= .seconds(66), "\(window)")
            if let pausedAt, !isResumed, window.end > pausedAt + .seconds(40) {
              isResumed = true
              player.resume()
            }
          default: break
          }
          return true
        }
        #expect(isResumed)
        #expect(runs.count == 1 && runs[0].lowerBound == 0, "\(runs)")
        // Where the pause lasts for half a minute, the silent connection may be given up.
        #expect(listening.origin.log("/radio").requests.count <= 2)
      }
    }

    @Test func `A seek to what is no longer kept leads to the earliest sound`() async throws {
      try await Listening.with { listening in
        let radio = listening.serveStation(seconds: 1500)
        let release = listening.holdStation(at: 400, 1490)
        var earliest: LiveWindow?
        var arrival: Duration?
        let runs = try await runs(listening, radio, keeping: Self.room) { event, player in
          switch event {
          // The station is held from 400 on: what is kept moves on no more while libmpv seeks.
          case .liveWindow(let window?) where earliest == nil && window.end >= .seconds(399):
            earliest = window
            player.seek(to: .zero)
          case .seekCompleted(let position):
            arrival = position
            release()
          case .position(let position):
            if let arrival { return position < arrival + Self.buffered }
          default: break
          }
          return true
        }
        let start = try #require(earliest).start
        let kept = start...start + .seconds(45)
        // The output takes sound as fast as it comes: a busy machine reports a later position, so what
        // was heard counts.
        try #require(arrival != nil && runs.count == 2, "\(runs)")
        let heard = Duration.seconds(runs[1].lowerBound) / Self.rate
        #expect(kept.contains(heard), "\(runs) \(start)")
      }
    }

    /// Otherwise, the player would show the title of sound that is heard later.
    @Test func `The title of what is heard follows the part that is kept`() async throws {
      try await Listening.with { listening in
        // All of the sound, with a second title, arrives while libmpv opens the station.
        let radio = listening.serveStation(seconds: 400, speed: nil).asEngineMedia
        let referee = try await listening.referee()
        let item = referee.load(radio, rewind: 256 << 20)
        try await eventually("it has a title") {
          referee.events.contains {
            if case .streamTitle(_, let title) = $0 { title.title != nil } else { false }
          }
        }
        let kinds = referee.events.compactMap { event -> String? in
          switch event {
          case .liveWindow: "window"
          case .ready: "ready"
          case .streamTitle(_, let title): title.title
          default: nil
          }
        }
        let title = try #require(kinds.firstIndex { $0 != "window" && $0 != "ready" })
        #expect(kinds[title] == "First" && kinds[..<title].contains("window"), "\(kinds)")
        #expect(referee.violations == [])
        #expect(!referee.isOver(item))
        await referee.close()
      }
    }
  }
#endif
