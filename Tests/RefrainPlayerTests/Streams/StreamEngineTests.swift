// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import TestSupport
import Testing

@testable import RefrainPlayer
@testable import RefrainPlayerStreams

/// The lookup of streams before another engine, a scripted one, receives them.
@MainActor
@Suite(.timeLimit(.minutes(2)))
struct StreamEngineTests {
  /// A stream engine over a scripted one, with an origin and an empty cache.
  private struct Rig {
    let origin: OriginServer
    let cache: MediaCache
    let engine: ScriptedEngine
    let streams: StreamEngine
    let referee: EngineReferee

    /// Returns the URL that the engine plays a stream from.
    static func proxied(_ url: URL) -> URL {
      url.appending(queryItems: [URLQueryItem(name: "proxied", value: "1")])
    }
  }

  private func with(hasProxy: Bool = true, _ body: (Rig) async throws -> Void) async throws {
    try await withOrigin { origin, cache, _ in
      let engine = ScriptedEngine()
      let proxied = CachedStreams { Rig.proxied($0.url) }
      let streams = StreamEngine(engine, cache: cache, streams: hasProxy ? proxied : nil)
      let referee = EngineReferee(streams)
      try await referee.closing {
        try await body(
          Rig(origin: origin, cache: cache, engine: engine, streams: streams, referee: referee))
      }
    }
  }

  @Test func `A stream reaches the engine with its own URL, and is fetched once`() async throws {
    try await with { rig in
      let media = Media(SilentStream().serve(on: rig.origin, as: "ok.m3u8"))
      let id = rig.referee.load(media, at: .seconds(3))
      #expect(rig.engine.current == nil)
      try await eventually("it is loaded") { rig.engine.current != nil }
      let now = try #require(rig.engine.current)
      #expect(now.item.id == id && now.item.media == media && now.position == .seconds(3))
      #expect(now.item.streamURL == Rig.proxied(media.url))
      #expect(!rig.streams.hasOwnBytes)
      #expect(rig.origin.log("/ok.m3u8").requests.count == 1)
      #expect(try await rig.cache.entry(for: media.url)?.isComplete == true)
    }
  }

  @Test func `A DASH manifest is recognized`() async throws {
    try await with { rig in
      let url = rig.origin.serveManifest("<MPD type=\"static\"/>", at: "/ok.mpd")
      rig.referee.load(Media(url))
      try await eventually("it is loaded") { rig.engine.current?.item.streamURL != nil }
    }
  }

  @Test func `A list of songs with a manifest's name reaches the engine as it is`() async throws {
    try await with { rig in
      let url = rig.origin.serveManifest("#EXTM3U\nsong.mp3\n", at: "/ok.m3u8")
      rig.referee.load(Media(url))
      try await eventually("it is loaded") { rig.engine.current != nil }
      #expect(rig.engine.current?.item.streamURL == nil)
      #expect(rig.streams.hasOwnBytes)
    }
  }

  @Test func `Other media reaches the engine at once, without a request`() async throws {
    try await with { rig in
      let media = Media(rig.origin.url("/ok-20"))
      let id = rig.referee.load(media)
      #expect(rig.engine.current?.item.id == id)
      #expect(rig.streams.hasOwnBytes)
      #expect(rig.origin.log("/ok-20").requests.isEmpty)
    }
  }

  @Test func `The latest seek and pause during a lookup reach the engine`() async throws {
    try await with { rig in
      let url = SilentStream().serve(on: rig.origin, as: "ok.m3u8")
      rig.origin.script("/ok.m3u8", .on(.all, .delay(nil)))
      rig.referee.load(Media(rig.origin.url("/ok-20")))
      rig.engine.take(.begin)
      rig.referee.load(Media(url))
      // The previous item is silent meanwhile.
      #expect(rig.engine.isPaused)
      rig.referee.seek(to: .seconds(4))
      let serial = rig.referee.seek(to: .seconds(6))
      rig.referee.pause()
      rig.referee.play()
      rig.referee.pause()
      let next = rig.referee.follow(with: Media(rig.origin.url("/ok-5")))
      #expect(rig.engine.current?.seek == nil && rig.engine.next == nil)
      try await eventually("it is loaded") {
        rig.origin.release("/ok.m3u8")
        return rig.engine.current?.item.streamURL != nil
      }
      #expect(rig.engine.current?.seek?.serial == serial && rig.engine.isPaused)
      #expect(rig.engine.next?.id == next)
      rig.referee.play()
      #expect(!rig.engine.isPaused)
    }
  }

  @Test func `Media loaded during a lookup replaces the stream`() async throws {
    try await with { rig in
      let url = SilentStream().serve(on: rig.origin, as: "ok.m3u8")
      rig.origin.script("/ok.m3u8", .on(.all, .delay(nil)))
      rig.referee.load(Media(url))
      try await eventually("it is requested") { !rig.origin.log("/ok.m3u8").requests.isEmpty }
      let second = rig.referee.load(Media(rig.origin.url("/ok-20")))
      for _ in 0..<100 {
        rig.origin.release("/ok.m3u8")
        #expect(rig.engine.current?.item.id == second)
        await Task.yield()
      }
    }
  }

  @Test func `A manifest that cannot be fetched fails the item`() async throws {
    try await with { rig in
      let id = rig.referee.load(Media(rig.origin.url("/missing.m3u8")))
      try await eventually("it fails") { rig.referee.failure(of: id) != nil }
      #expect(rig.referee.failure(of: id)?.status == 404)
      #expect(rig.referee.events.first == .began(id))
      #expect(rig.engine.current == nil)
    }
  }

  private static func serve(_ variant: String, at path: String, on origin: OriginServer) {
    origin.serveManifest("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n\(variant)\n", at: path)
  }

  @Test(arguments: ["self.m3u8", "/self.m3u8", "a.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=2\nself.m3u8"])
  func `A playlist that names itself fails the item, and does not reach the engine`(
    _ variant: String
  ) async throws {
    try await with { rig in
      Self.serve(variant, at: "/self.m3u8", on: rig.origin)
      let id = rig.referee.load(Media(rig.origin.url("/self.m3u8")))
      try await eventually("it fails") { rig.referee.failure(of: id) != nil }
      let error = try #require(rig.referee.failure(of: id))
      #expect(error.code == .invalidResponse && error.reason.contains("no media playlist"))
      #expect(rig.engine.current == nil)
      #expect(rig.origin.log("/self.m3u8").requests.count == 1)
    }
  }

  @Test func `Playlists that name each other fail the item once the engine could not open it`()
    async throws
  {
    try await with { rig in
      Self.serve("b.m3u8", at: "/broken", on: rig.origin)
      Self.serve("broken", at: "/b.m3u8", on: rig.origin)
      // The engine has read them.
      for path in ["/broken", "/b.m3u8"] { _ = try await rig.cache.prefetch(rig.origin.url(path)) }
      let media = Media(rig.origin.url("/broken"))
      let first = rig.referee.load(media)
      for _ in 0..<2 {
        rig.engine.take(.begin)
        rig.engine.take(.fail)
        try await eventually("it is loaded, or fails") {
          rig.engine.current != nil || rig.referee.failure(of: first) != nil
        }
      }
      #expect(rig.referee.failure(of: first) == ScriptedEngine.error(of: media))
      let second = rig.referee.load(media)
      rig.engine.take(.begin)
      rig.engine.take(.fail)
      try await eventually("it fails") { rig.referee.failure(of: second) != nil }
      #expect(rig.referee.failure(of: second)?.reason.contains("no media playlist") == true)
      #expect(rig.engine.current == nil)
    }
  }

  @Test func `A playlist before the multivariant one reaches the engine, tried again too`()
    async throws
  {
    try await with { rig in
      Self.serve("b.m3u8", at: "/broken", on: rig.origin)
      Self.serve("c.m3u8", at: "/b.m3u8", on: rig.origin)
      _ = SilentStream().serve(on: rig.origin, as: "c.m3u8")
      for path in ["/broken", "/b.m3u8", "/c.m3u8"] {
        _ = try await rig.cache.prefetch(rig.origin.url(path))
      }
      for _ in 0..<2 {
        let id = rig.referee.load(Media(rig.origin.url("/broken")))
        rig.engine.take(.begin)
        rig.engine.take(.fail)
        try await eventually("it is loaded") { rig.engine.current?.item.streamURL != nil }
        rig.engine.take(.begin)
        rig.engine.take(.fail)
        #expect(rig.referee.failure(of: id)?.reason == "It is no media.")
      }
    }
  }

  @Test func `A following stream is looked up, and follows with its own URL`() async throws {
    try await with { rig in
      let url = SilentStream().serve(on: rig.origin, as: "ok.m3u8")
      rig.referee.load(Media(rig.origin.url("/ok-20")))
      let next = rig.referee.follow(with: Media(url))
      try await eventually("it follows") { rig.engine.next != nil }
      #expect(rig.engine.next?.id == next && rig.engine.next?.streamURL == Rig.proxied(url))
      for step in [ScriptedEngine.Step.begin, .ready, .tick, .end, .begin] { rig.engine.take(step) }
      #expect(rig.referee.current == next)
      #expect(!rig.streams.hasOwnBytes)
    }
  }

  @Test(arguments: [true, false])
  func `A stream without a manifest's name is recognized once the engine refuses it`(
    hasProxy: Bool
  ) async throws {
    try await with(hasProxy: hasProxy) { rig in
      let url = SilentStream().serve(on: rig.origin, as: "broken")
      // The engine has read it.
      _ = try await rig.cache.prefetch(url)
      let id = rig.referee.load(Media(url), at: .seconds(2))
      rig.engine.take(.begin)
      rig.engine.take(.fail)
      #expect(rig.referee.failure(of: id) == nil)
      if hasProxy {
        try await eventually("it is loaded") { rig.engine.current?.item.streamURL != nil }
        #expect(rig.engine.current?.position == .seconds(2))
        rig.engine.take(.begin)
        // Another failure is the item's.
        rig.engine.take(.fail)
      }
      try await eventually("it fails") { rig.referee.failure(of: id) != nil }
      let error = try #require(rig.referee.failure(of: id))
      #expect(error.remedy.contains("Player.Configuration.streams") == !hasProxy)
      #expect(rig.referee.events.count { $0 == .began(id) } == 1)
      #expect(rig.origin.log("/broken").requests.count == 1)
    }
  }

  @Test func `Media that is no stream fails with the engine's own error`() async throws {
    try await with { rig in
      rig.origin.serve(.synthetic(seed: 1, length: 1000), at: "/broken")
      let media = Media(rig.origin.url("/broken"))
      _ = try await rig.cache.prefetch(media.url)
      let id = rig.referee.load(media)
      rig.engine.take(.begin)
      rig.engine.take(.fail)
      try await eventually("it fails") { rig.referee.failure(of: id) != nil }
      #expect(rig.referee.failure(of: id) == ScriptedEngine.error(of: media))
    }
  }
}
