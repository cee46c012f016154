// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import OriginServer
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainPlayer
  @testable import RefrainPlayerStreams

  /// Streams and live items in the engine of AVPlayer.
  @MainActor @Suite(.timeLimit(.minutes(2))) struct StreamItemTests {
    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    @Test(arguments: [
      ("http://127.0.0.1:8801/token/https/example.org/a.m3u8", false),
      ("http://localhost:8801/a.m3u8", false), ("http://[::1]:8801/a.m3u8", false),
      ("http://192.168.1.2:8801/token/https/example.org/a.m3u8", true),
    ])
    func `A stream plays from its own URL, and goes to AirPlay if a receiver can reach it`(
      _ proxied: String, isReachable: Bool
    ) async throws {
      try await AppleListening.with { listening in
        var item = listening.item(at: try url("https://example.org/a.m3u8"))
        item.streamURL = try url(proxied)
        listening.engine.load(item, at: .zero, isPaused: true)
        let asset = try #require(listening.engine.player.currentItem?.asset as? AVURLAsset)
        #expect(asset.url == item.streamURL)
        #expect(listening.engine.player.allowsExternalPlayback == isReachable)
        #expect(listening.engine.player.automaticallyWaitsToMinimizeStalling)
      }
    }

    @Test func `A live item does not seek, and reports where it is`() async throws {
      try await AppleListening.with { listening in
        var item = listening.item(at: try url("https://example.org/a.m3u8"))
        item.streamURL = try url("http://127.0.0.1:8801/a.m3u8")
        listening.engine.load(item, at: .zero, isPaused: false)
        try await listening.waitForReady(item)
        #expect(listening.events.contains(.live(item.id)))
        await listening.pass(3)
        listening.forget()
        listening.engine.seek(to: .seconds(60), serial: 7)
        try await listening.wait("refused") {
          $0 == .seekCompleted(item.id, serial: 7, at: .seconds(3))
        }
        await listening.pass(2)
        #expect(listening.positions.last == .seconds(5))
      }
    }

    private func serveDASH(_ listening: AppleListening) -> Media {
      listening.origin.serve(
        OriginResource(.bytes(Array("<MPD type=\"static\"/>".utf8)), etag: "\"d\""), at: "/show.mpd"
      )
      return Media(listening.origin.url("/show.mpd"))
    }

    @Test(arguments: [true, false])
    func `AVPlayer refuses a DASH stream with an error that says so`(
      hasProxy: Bool
    ) async throws {
      try await AppleListening.with { listening in
        let proxied = CachedStreams { $0.url }
        let streams = StreamEngine(
          listening.engine, cache: listening.cache, streams: hasProxy ? proxied : nil)
        let referee = EngineReferee(streams)
        let id = referee.load(serveDASH(listening))
        try await eventually("it fails") { referee.failure(of: id) != nil }
        let error = try #require(referee.failure(of: id))
        #expect(error.reason.contains("DASH") && error.reason.contains("AVPlayer cannot play"))
        #expect(error.remedy.contains("HLS"))
        #expect(listening.engine.player.items().isEmpty)
        #expect(referee.violations == [])
      }
    }

    @Test func `A DASH stream does not follow in AVPlayer's queue`() async throws {
      try await AppleListening.with { listening in
        let streams = StreamEngine(
          listening.engine, cache: listening.cache, streams: CachedStreams { $0.url })
        let referee = EngineReferee(streams)
        referee.load(listening.item().media, isPaused: true)
        let show = serveDASH(listening)
        referee.follow(with: show)
        try await eventually("it is looked up, and read") {
          try await listening.cache.progress(of: Resource(url: show.url)).isComplete
        }
        for _ in 0..<100 { await Task.yield() }
        #expect(listening.engine.player.items().count == 1)
      }
    }
  }
#endif
