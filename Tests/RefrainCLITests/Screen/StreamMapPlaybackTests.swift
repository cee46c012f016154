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
    /// Runs `body` with a player, and an origin of the tune.
    private func with(_ body: (OriginServer, Player) async throws -> Void) async throws {
      let directory = FileManager.default.temporaryDirectory
        .appending(path: "refrain-map-\(UUID().uuidString)", directoryHint: .isDirectory)
      defer { try? FileManager.default.removeItem(at: directory) }
      let origin = try await OriginServer.start()
      origin.serve(Tune.resource, at: "/tune.wav")
      let cache = try MediaCache(directory: directory)
      let streams = StreamProxy(cache: cache)
      var configuration = Player.Configuration()
      configuration.streamURL = { try await streams.url(for: $0) }
      let player = Player(
        cache: cache, engine: try await MPVEngine(cache: cache, output: .silent),
        configuration: configuration)
      var failure: (any Error)?
      do { try await body(origin, player) } catch { failure = error }
      await player.close()
      await streams.stop()
      await cache.close()
      await origin.stop()
      if let failure { throw failure }
    }

    /// Serves a stream of silence in segments of half a second (packed MPEG audio), of which the
    /// origin has only the first ones.
    private func serve(_ stored: Int, of count: Int, on origin: OriginServer) -> Media {
      let lines = (0..<count).map { "#EXTINF:0.4963,\n\($0).mp3\n" }.joined()
      let playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n\(lines)#EXT-X-ENDLIST\n"
      origin.serve(
        OriginResource(
          .bytes(Array(playlist.utf8)), contentType: "application/vnd.apple.mpegurl",
          etag: "\"m\"", headers: [Field("Cache-Control", "max-age=3600")]),
        at: "/silence.m3u8")
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
      try await with { origin, player in
        let stream = serve(4, of: 40, on: origin)
        let events = player.events()
        player.play([stream, Media(origin.url("/tune.wav"))])
        var failure: MediaCacheError?
        var stored = 0.0
        for await event in events {
          if case .failed(_, let error) = event { failure = error }
          if case .streamProgress(let progress?) = event { stored = max(stored, progress.fraction) }
          if case .started(let item, _) = event, item.media != stream { break }
          if case .status(.failed) = event { break }
        }
        #expect(failure?.status == 404)
        #expect(abs(stored - 0.1) < 0.01)
        #expect(player.queue.currentIndex == 1)
      }
    }
  }
#endif
