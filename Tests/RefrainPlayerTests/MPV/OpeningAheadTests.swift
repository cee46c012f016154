// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  @testable import Refrain
  @testable import RefrainPlayer

  /// The first bytes of an item are requested while libmpv is still being started, and once.
  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(1)))
  struct OpeningAheadTests {
    private func engine(_ listening: Listening) async throws -> MPVEngine {
      try await MPVEngine(cache: listening.cache, output: .silent)
    }

    private func opening(
      _ media: Media, _ listening: Listening, fill: FillPolicy = .onDemand
    ) throws -> OpeningAhead {
      try #require(OpeningAhead(media, in: listening.cache, fill: fill))
    }

    @Test(arguments: [FillPolicy.onDemand, .wholeResource])
    func `An item that was opened ahead plays without a further request for its beginning`(
      _ fill: FillPolicy
    ) async throws {
      try await Listening.with { listening in
        // The response comes once libmpv reads.
        listening.origin.script(Listening.path, .on(.number(1), .delay(nil)))
        let opening = try opening(listening.media, listening, fill: fill)
        // There is no engine yet.
        try await listening.origin.wait(for: Listening.path) { $0.stalled == 1 }
        let engine = try await engine(listening)
        engine.begin(with: opening)
        var configuration = Player.Configuration()
        configuration.fill = fill
        let player = Player(
          cache: listening.cache, engine: engine, configuration: configuration)
        player.play([listening.media])
        listening.origin.release(Listening.path)
        try await eventually("it plays") { player.status == .playing && player.position > .zero }
        let firsts = listening.log.requests.count {
          $0.request.range?.hasPrefix("bytes=0-") ?? true
        }
        #expect(firsts == 1 && listening.log.bytesSentTwice == 0)
        let statistics = try #require(player.statistics)
        #expect(statistics.bytesFromOrigin > 0 && statistics.bytesFromDisk == 0)
        await player.close()
        try await eventually("it is closed") { listening.cache.context.table.isEmpty }
      }
    }

    @Test func `A refused item that was opened ahead is requested once`() async throws {
      try await Listening.with { listening in
        let media = Media(listening.origin.url("/missing.mp3"))
        let opening = try opening(media, listening)
        try await listening.origin.wait(for: "/missing.mp3") {
          $0.requests.count == 1 && $0.running == 0
        }
        try await eventually("its failure is known") { opening.failure != nil }
        let engine = try await engine(listening)
        engine.begin(with: opening)
        let referee = EngineReferee(engine)
        let item = referee.load(media)
        try await eventually("it fails") { referee.isOver(item) }
        #expect(referee.failure(of: item)?.status == 404)
        #expect(listening.origin.log("/missing.mp3").requests.count == 1)
        // Another loading asks again.
        let again = referee.load(media)
        try await eventually("it fails again") { referee.isOver(again) }
        #expect(listening.origin.log("/missing.mp3").requests.count == 2)
        await referee.close()
      }
    }

    @Test(arguments: [true, false])
    func `An opening that is not used ends with its request`(_ hasEngine: Bool) async throws {
      try await Listening.with { listening in
        listening.origin.script(Listening.path, .on(.all, .delay(nil)))
        let engine = try await engine(listening)
        var opening: OpeningAhead? = try opening(listening.media, listening, fill: .wholeResource)
        try await listening.origin.wait(for: Listening.path) { $0.stalled > 0 }
        if hasEngine {
          engine.begin(with: opening)
          // Of another item than the one that is loaded.
          let item = EngineItem(id: EngineItem.ID(rawValue: 1), media: listening.tracks[0])
          engine.load(item, at: .zero, isPaused: true)
          engine.stop()
        } else {
          opening = nil
        }
        try await eventually("it is closed") { listening.cache.context.table.isEmpty }
        withExtendedLifetime(opening) {}
        listening.origin.release(Listening.path)
        await engine.close()
      }
    }

    @Test func `An opening whose reader is taken over waits no more, and its request goes on`()
      async throws
    {
      try await Listening.with { listening in
        listening.origin.script(Listening.path, .on(.number(1), .delay(nil)))
        let opening = try opening(listening.media, listening)
        try await listening.origin.wait(for: Listening.path) { $0.stalled == 1 }
        let reader = try await opening.take()
        // Its wait would move the reader back to the first byte.
        #expect(reader.generation.withState { $0.waiters.isEmpty })
        opening.end()
        listening.origin.release(Listening.path)
        let bytes = try await reader.bytes(in: 0..<1000)
        #expect(bytes == Tune.wav.prefix(1000))
        #expect(listening.log.requests.count == 1)
        reader.cancel()
      }
    }

    @Test func `Files and manifests are not opened ahead`() async throws {
      try await Listening.with { listening in
        let file = Media(URL(filePath: "/tmp/song.wav"))
        #expect(OpeningAhead(file, in: listening.cache) == nil)
        for name in ["/live.m3u8", "/film.mpd"] {
          #expect(OpeningAhead(Media(listening.origin.url(name)), in: listening.cache) == nil)
        }
      }
    }
  }
#endif
