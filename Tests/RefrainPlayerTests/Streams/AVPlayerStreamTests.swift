// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import OriginServer
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// Streams with AVPlayer's engine.
  @MainActor @Suite(.timeLimit(.minutes(1))) struct AVPlayerStreamTests {
    @Test func `A stream plays from the proxy's URL, and its stored times are reported`()
      async throws
    {
      try await AppleListening.with { listening in
        let streams = StreamEngine(listening.engine, cache: listening.cache) {
          $0.url.appending(queryItems: [URLQueryItem(name: "proxied", value: "1")])
        }
        var progress: StreamProgress?
        streams.reportProgress = { progress = $0 }
        let referee = EngineReferee(streams)
        referee.load(Media(SilentStream(segments: 4).serve(on: listening.origin)))
        try await eventually("it is loaded") {
          let asset = listening.engine.player.currentItem?.asset as? AVURLAsset
          return asset?.url.query() == "proxied=1"
        }
        for segment in [0, 1] {
          try await listening.cache.prefetch(listening.origin.url("/\(segment).mp3"))
        }
        try await eventually("half is stored") { abs((progress?.fraction ?? 0) - 0.5) < 0.001 }
        #expect(progress?.cachedRanges.count == 1)
        #expect(referee.violations == [])
      }
    }

    @Test(arguments: [true, false])
    func `AVPlayer refuses a DASH stream with an error that says so`(
      hasProxy: Bool
    ) async throws {
      try await AppleListening.with { listening in
        listening.origin.serve(
          OriginResource(.bytes(Array("<MPD type=\"static\"/>".utf8)), etag: "\"d\""),
          at: "/show.mpd")
        let proxied: StreamEngine.StreamURL = { $0.url }
        let streams = StreamEngine(
          listening.engine, cache: listening.cache, streamURL: hasProxy ? proxied : nil)
        let referee = EngineReferee(streams)
        let id = referee.load(Media(listening.origin.url("/show.mpd")))
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
        listening.origin.serve(
          OriginResource(.bytes(Array("<MPD type=\"static\"/>".utf8)), etag: "\"d\""),
          at: "/show.mpd")
        let streams = StreamEngine(
          listening.engine, cache: listening.cache, streamURL: { $0.url })
        let referee = EngineReferee(streams)
        listening.origin.serve(Wave(seconds: 10).resource, at: "/a.wav")
        referee.load(Media(listening.origin.url("/a.wav")), isPaused: true)
        referee.follow(with: Media(listening.origin.url("/show.mpd")))
        try await eventually("it is looked up") {
          listening.origin.log("/show.mpd").requests.count == 1
        }
        let last = Resource(url: listening.origin.url("/show.mpd"))
        try await eventually("it is read") {
          try await listening.cache.progress(of: last).isComplete
        }
        for _ in 0..<100 { await Task.yield() }
        #expect(listening.engine.player.items().count == 1)
      }
    }
  }
#endif
