// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import RefrainPlayer
  import TestSupport
  import Testing

  /// Pausing and rewinding a station, as libmpv plays it. Its sound arrives hundreds of times
  /// faster than it lasts, and each sample says its place.
  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(5)))
  struct RewindTests {
    private static let rate = NumberedFrames.wavRate

    /// More than libmpv buffers before it writes sound to a file: 2 × 65,536 samples.
    private static let buffered = Duration.seconds(40)

    /// Plays until `act` returns false. Returns the runs of samples that were heard. The cache takes
    /// no more of the disk than the ring, and than what was sent once.
    private func runs(
      _ listening: Listening, _ radio: Media, keeping rewind: Duration,
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
      var most: Int64 = 0
      var looked = Duration.zero
      for await event in events {
        switch event {
        case .failed, .seekRefused, .duration(.some): Issue.record("\(event)")
        case .liveWindow(let window?) where window.end - looked >= .seconds(30):
          looked = window.end
          most = max(most, listening.bytesOnDisk)
        default: break
        }
        if !act(event, player) { break }
      }
      most = max(most, listening.bytesOnDisk)
      await player.close()
      let sent = listening.origin.log("/radio").distinctBytesSent
      let kept = Int64(rewind / .seconds(1)) * Int64(NumberedFrames.wavBytesPerSecond)
      #expect(most > 0 && most <= min(kept, sent) + Listening.mostBeyondRing, "\(most)")
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
        let runs = try await runs(listening, radio, keeping: .seconds(7200)) { event, player in
          switch event {
          case .liveWindow(let window?):
            #expect(window.start == .zero)
            if pauses == 1, !player.wantsToPlay, window.end >= .seconds(800) {
              // The recording has gone on.
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
          #expect(run.lowerBound % (Self.rate / 4) == 0)
        }
        #expect(runs[1].count > 20 * Self.rate && runs[2].lowerBound > runs[1].upperBound)
        // The titles are those of the sound.
        #expect(titles == ["First", "Second", "First", "Second"])
        #expect(listening.origin.log("/radio").requests.count == 1)
      }
    }

    @Test func `A seek back while sound is awaited ends the wait`() async throws {
      try await Listening.with { listening in
        let radio = listening.serveStation(seconds: 200)
        _ = listening.holdStation(at: 100)
        var hasSought = false
        _ = try await runs(listening, radio, keeping: .seconds(7200)) { event, player in
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

    @Test func `A pause longer than the ring goes on at its start`() async throws {
      try await Listening.with { listening in
        let radio = listening.serveStation(seconds: 1500)
        let release = listening.holdStation(at: 100, 400, 1490)
        var releases = 0
        var resumedAt: LiveWindow?
        let runs = try await runs(listening, radio, keeping: .seconds(60)) { event, player in
          switch event {
          case .position(let position):
            // Near the end of what has come: more than is buffered after the start of the ring.
            if let resumedAt, position > resumedAt.start { return position < .seconds(1485) }
            if resumedAt == nil, releases == 0, position > .seconds(5) {
              releases = 1
              player.pause()
              release()
            }
          case .liveWindow(let window?):
            if releases == 1, window.end >= .seconds(395) {
              // The pause has begun before.
              releases = 2
              release()
            } else if resumedAt == nil, releases == 2, window.end >= .seconds(1480) {
              resumedAt = window
              player.resume()
            }
          default: break
          }
          return true
        }
        let window = try #require(resumedAt)
        try #require(runs.count == 2, "\(runs)")
        #expect(runs[0].lowerBound == 0)
        #expect(runs[1].lowerBound >= Int(window.start / .seconds(1)) * Self.rate)
      }
    }
  }
#endif
