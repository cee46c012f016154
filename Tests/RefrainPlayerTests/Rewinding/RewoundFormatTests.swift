// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import RefrainPlayer
  import TestSupport
  import Testing

  /// Pausing and rewinding the tune as stations send it: without lengths, ranges or an index.
  @MainActor
  @Suite(
    .enabled(if: RequiredLibrary.libmpv.isUsable && RequiredProgram.ffmpeg.isUsable),
    .timeLimit(.minutes(3)))
  struct RewoundFormatTests {
    enum Format: String, CaseIterable {
      case mp3, vorbis, opus, adts

      var type: String {
        switch self {
        case .mp3: "audio/mpeg"
        case .vorbis, .opus: "application/ogg"
        case .adts: "audio/aac"
        }
      }

      fileprivate var options: [String] {
        switch self {
        case .mp3: ["-c:a", "libmp3lame", "-b:a", "128k", "-write_xing", "0", "-f", "mp3"]
        case .vorbis: ["-c:a", "libvorbis", "-f", "ogg"]
        case .opus: ["-c:a", "libopus", "-b:a", "96k", "-f", "ogg"]
        case .adts: ["-c:a", "aac", "-b:a", "128k", "-f", "adts"]
        }
      }
    }

    private static let seconds = 120

    /// Serves the tune over and over, as fast as it is read. Returns the station and its bytes.
    private func serve(_ format: Format, _ listening: Listening) async throws -> (Media, Int64) {
      try Tune.wav.write(to: listening.directory.appending(path: "tune.wav"))
      try await listening.ffmpeg(
        ["-stream_loop", "-1", "-i", "tune.wav", "-t", "\(Self.seconds)"] + format.options + [
          "station"
        ])
      let sound = try Data(contentsOf: listening.directory.appending(path: "station"))
      return (listening.serveStation(sound, type: format.type), Int64(sound.count))
    }

    private func player(_ listening: Listening) async throws -> Player {
      var configuration = Player.Configuration()
      configuration.rewind = 64 << 20
      return try await listening.player(configuration)
    }

    @Test(arguments: Format.allCases)
    func `A station is paused, rewound and taken up again at the present`(
      _ format: Format
    ) async throws {
      try await Listening.with { listening in
        let (radio, length) = try await serve(format, listening)
        // It stays on at the last place, however slowly the test runs.
        let release = listening.holdStation(atBytes: [5, 50, 80].map { length * $0 / 120 })
        let player = try await player(listening)
        let events = player.events()
        player.play(radio)
        var arrivals: [(position: Duration, target: Duration)] = []
        var paused: Duration?
        var resumed: Duration?
        var target = Duration.zero
        loop: for await event in events {
          switch event {
          case .failed, .seekRefused, .duration(.some): Issue.record("\(event)")
          case .position(let position) where paused == nil && position > .milliseconds(500):
            paused = position
            player.pause()
            release()
          case .position(let position) where player.wantsToPlay && resumed == nil && paused != nil:
            resumed = position
            target = .seconds(20)
            player.seek(to: target)
          case .liveWindow(let window?):
            #expect(window.start < .seconds(1))
            if !player.wantsToPlay, window.end > .seconds(40) {
              player.resume()
            } else if arrivals.count == 1, target == .seconds(20), window.end > .seconds(60) {
              target = (player.liveWindow ?? window).live
              player.seekToLive()
            }
          case .seekCompleted(let position):
            arrivals.append((position, target))
            if arrivals.count == 1 { release() }
            if arrivals.count == 2 {
              target = .milliseconds(200)
              player.seek(to: target)
            }
          case .status(.playing) where arrivals.count == 3: break loop
          default: break
          }
        }
        // It went on where it was paused.
        let pause = (try #require(resumed) - (try #require(paused))) / .seconds(1)
        #expect((0..<5).contains(pause))
        for arrival in arrivals {
          #expect(abs((arrival.position - arrival.target) / .seconds(1)) < 1, "\(arrivals)")
        }
        #expect(arrivals.count == 3 && player.isLive)
        await player.close()
      }
    }

    @Test(arguments: [Format.mp3, .vorbis])
    func `A station that breaks off is joined again, and what was heard is kept`(
      _ format: Format
    ) async throws {
      try await Listening.with { listening in
        let (radio, length) = try await serve(format, listening)
        listening.origin.script(
          Listening.stationPath,
          .on(.all, .stall(at: .body(length * 9 / 10))).on(.number(1), .drop(at: .body(length / 3)))
        )
        let player = try await player(listening)
        let events = player.events()
        player.play(radio)
        for await event in events {
          switch event {
          case .failed, .seekRefused, .finished: Issue.record("\(event)")
          default: break
          }
          if case .liveWindow(let window?) = event {
            #expect(window.start < .seconds(1))
            if window.end > .seconds(60) { break }
          }
        }
        #expect(player.position < .seconds(60))
        #expect(listening.origin.log(Listening.stationPath).requests.count >= 2)
        await player.close()
      }
    }
  }
#endif
