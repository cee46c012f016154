// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import RefrainPlayer
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// Streams that libmpv plays through the proxy of `play`.
  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(2)))
  struct StreamMapPlaybackTests {
    /// Serves a stream of silence in segments of half a second (packed MPEG audio), of which the
    /// origin has only the first ones.
    private func serve(_ stored: Int, of count: Int, on origin: OriginServer) -> Media {
      let lines = (0..<count).map { "#EXTINF:0.4963,\n\($0).mp3\n" }.joined()
      let playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n\(lines)#EXT-X-ENDLIST\n"
      origin.serve(text: playlist, at: "/silence.m3u8", headers: [.fresh])
      let frame: [UInt8] = [0xFF, 0xFB, 0x90, 0x00] + [UInt8](repeating: 0, count: 413)
      let segment = [[UInt8]](repeating: frame, count: 19).flatMap(\.self)
      for index in 0..<stored {
        origin.serve(
          OriginResource(.bytes(segment), contentType: "audio/mpeg", etag: "\"\(index)\""),
          at: "/\(index).mp3")
      }
      return Media(origin.url("/silence.m3u8"))
    }

    @Test func `A stream whose end is missing fails with a status, and the next item plays`()
      async throws
    {
      try await CacheAndOrigin.with { place in
        let stream = serve(4, of: 40, on: place.origin)
        place.origin.serve(Tune.resource, at: "/tune.wav")
        try await place.withPlayer { player in
          let events = player.events()
          player.play([stream, Media(place.origin.url("/tune.wav"))])
          var failure: MediaCacheError?
          var stored = 0.0
          for await event in events {
            if case .failed(_, let error) = event { failure = error }
            if case .streamProgress(let progress?) = event {
              stored = max(stored, progress.fraction)
            }
            if case .started(let item, _) = event, item.media != stream { break }
            if case .status(.failed) = event { break }
          }
          #expect(failure?.status == 404)
          #expect(abs(stored - 0.1) < 0.01)
          #expect(player.queue.currentIndex == 1)
        }
      }
    }
  }

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
      try await CacheAndOrigin.with { place in
        let clock = LiveClock.standing()
        place.origin.serve(Self.stream, under: "/live/", clock: clock)
        try await place.withPlayer(rewind: 64 << 20) { player in
          let events = player.events()
          player.play([Media(place.origin.url("/live/live.m3u8"))])
          try await body(player, events, place.origin, clock)
        }
      }
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
