// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import RefrainPlayer
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// Live HLS that libmpv plays through the proxy of `play`, and keeps in memory.
  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(2)))
  struct RewoundStreamTests {
    /// The duration of a segment: whole frames of MPEG audio.
    private static let segment = Duration.seconds(38 * 1152) / 44_100
    private static let count = 700

    /// A stream of silence, which lasts some 700 seconds, five segments at a time.
    private static let stream: LiveStream = {
      let frame: [UInt8] = [0xFF, 0xFB, 0x90, 0x00] + [UInt8](repeating: 0, count: 413)
      let frames = [[UInt8]](repeating: frame, count: 38).flatMap(\.self)
      var stream = LiveStream(
        (0..<count).map { number in
          // The time at which it begins, as ID3 (RFC 8216 §3.4).
          let ticks = UInt64(number * 38 * 1152 * 90_000 / 44_100)
          var content = Array("com.apple.streaming.transportStreamTimestamp\0".utf8)
          withUnsafeBytes(of: ticks.bigEndian) { content.append(contentsOf: $0) }
          let field = Array("PRIV".utf8) + [0, 0, 0, UInt8(content.count), 0, 0] + content
          let tag = Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, UInt8(field.count)] + field
          return LiveStream.Segment(tag + frames, duration: segment)
        })
      (stream.window, stream.segmentsAtStart, stream.suffix) = (5, 5, "mp3")
      return stream
    }()

    /// Runs `body` with a player that rewinds, and the events of a live stream on a standing clock.
    private func with(
      _ body: (Player, AsyncStream<PlayerEvent>, OriginServer, LiveClock) async throws -> Void
    ) async throws {
      let directory = FileManager.default.temporaryDirectory
        .appending(path: "refrain-rewound-\(UUID().uuidString)", directoryHint: .isDirectory)
      defer { try? FileManager.default.removeItem(at: directory) }
      let origin = try await OriginServer.start()
      let clock = LiveClock.standing()
      origin.serve(Self.stream, under: "/live/", clock: clock)
      let cache = try MediaCache(directory: directory)
      let streams = StreamProxy(cache: cache)
      var configuration = Player.Configuration()
      configuration.streamURL = { try await streams.url(for: $0) }
      configuration.rewind = 64 << 20
      let player = Player(
        cache: cache, engine: try await MPVEngine(cache: cache, output: .silent),
        configuration: configuration)
      let events = player.events()
      player.play([Media(origin.url("/live/live.m3u8"))])
      var failure: (any Error)?
      do { try await body(player, events, origin, clock) } catch { failure = error }
      await player.close()
      await streams.stop()
      await cache.close()
      await origin.stop()
      if let failure { throw failure }
    }

    /// The last one of the segments that the playlist has.
    private static func newest(at clock: LiveClock) -> Int { Int(clock.now / segment + 0.5) + 4 }

    @Test func `A live stream is paused, rewound and taken up again at the present`() async throws {
      try await with { player, events, origin, clock in
        var arrivals: [Duration] = []
        var target = Duration.zero
        var steps = 0
        events: for await event in events {
          switch event {
          case .failed(_, let error): throw error
          case .liveWindow(let window?):
            switch steps {
            case 0:
              // Paused, while the broadcast goes on. The origin keeps five segments.
              player.pause()
              steps = 1
              clock.advance(to: Self.segment * 4)
            // The next version follows once the last segment of this one was requested.
            case 1 where origin.log("/live/s\(Self.newest(at: clock)).mp3").requests.isEmpty: break
            case 1 where window.end < Self.segment * 40:
              clock.advance(to: clock.now + Self.segment * 4)
            case 1:
              steps = 2
              target = window.end - Self.segment * 30
              player.seek(to: target)
            default: break
            }
          case .seekCompleted(let position):
            arrivals.append(position)
            if arrivals.count == 1 { player.resume() } else { break events }
          case .position(let position)
          where arrivals.count == 1 && steps == 2 && position > target + .seconds(1):
            steps = 3
            player.seekToLive()
          default: break
          }
        }
        try #require(arrivals.count == 2)
        let window = try #require(player.liveWindow)
        #expect(player.isLive && window.lead == .seconds(3))
        // Less what the silent output holds.
        #expect((arrivals[0] - target).magnitude < .milliseconds(250))
        #expect((arrivals[1] - window.live).magnitude < .milliseconds(250))
        let played = (0..<Self.count).map { origin.log("/live/s\($0).mp3").requests.count }
        #expect(played.allSatisfy { $0 <= 1 })
        // From where it began up to the end: nothing was left out during the pause.
        let first = try #require(played.firstIndex(of: 1))
        let end = Int(window.end / Self.segment + 0.5)
        #expect(played[first..<end].allSatisfy { $0 == 1 }, "\(played)")
      }
    }
  }

  extension Duration {
    fileprivate var magnitude: Duration { self < .zero ? .zero - self : self }
  }
#endif
