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
    /// When libmpv opens the stream.
    enum Time: CaseIterable, Sendable {
      case beforeTheRequest, beforeTheResponse, afterTheFirstBytes
    }

    private func opening(
      _ media: Media, _ listening: Listening, fill: FillPolicy = .onDemand
    ) throws -> OpeningAhead {
      try #require(OpeningAhead(media, in: listening.cache, fill: fill))
    }

    private func engine(_ listening: Listening) async throws -> MPVEngine {
      try await MPVEngine(cache: listening.cache, output: .silent)
    }

    private func item(_ media: Media, fill: FillPolicy = .onDemand) -> EngineItem {
      // As a player passes it on.
      EngineItem(media, fill: fill).askingForTitles
    }

    private func expectOneOfEachByte(_ listening: Listening) {
      let firsts = listening.log.requests.count {
        $0.request.range?.hasPrefix("bytes=0-") ?? true
      }
      #expect(firsts == 1 && listening.log.bytesSentTwice == 0)
    }

    @Test(arguments: Time.allCases, [FillPolicy.onDemand, .wholeResource])
    func `A stream receives each byte once, whenever it takes over the opening`(
      _ time: Time, _ fill: FillPolicy
    ) async throws {
      try await Listening.with { listening in
        if time != .afterTheFirstBytes {
          listening.origin.script(Listening.path, .on(.number(1), .delay(nil)))
        }
        let opening = try opening(listening.media, listening, fill: fill)
        let item = item(listening.media, fill: fill)
        #expect(opening.fits(item))
        switch time {
        case .beforeTheRequest: break
        case .beforeTheResponse:
          try await listening.origin.wait(for: Listening.path) { $0.stalled == 1 }
        case .afterTheFirstBytes:
          try await eventually("there are bytes") {
            let entry = listening.cache.table.openEntries.first
            return entry?.current?.withState { $0.readable.contains(0) } ?? false
          }
        }
        let playback = MPVPlayback(item: item, cache: listening.cache, ahead: opening)
        let reading = Task {
          try await onThread {
            let stream = try MPVStream(of: playback)
            defer { stream.cancel() }
            return stream.readAll().bytes
          }
        }
        if time != .afterTheFirstBytes {
          try await listening.origin.wait(for: Listening.path) { $0.stalled == 1 }
          listening.origin.release(Listening.path)
        }
        #expect(try await reading.value == Tune.wav)
        expectOneOfEachByte(listening)
        let statistics = try #require(playback.statistics)
        #expect(statistics.bytesFromOrigin == Listening.length && statistics.bytesFromDisk == 0)
        try await listening.waitUntilClosed()
      }
    }

    @Test(arguments: [Duration.zero, .seconds(10)])
    func `A player goes on with the request that was made before its engine was started`(
      _ start: Duration
    ) async throws {
      try await Listening.with { listening in
        // The response comes once libmpv reads.
        listening.origin.script(Listening.path, .on(.number(1), .delay(nil)))
        let configuration = Player.Configuration()
        let opening = try opening(listening.media, listening, fill: configuration.fill)
        try await listening.origin.wait(for: Listening.path) { $0.stalled == 1 }
        #expect(listening.log.requests.first?.request.headers.first("Icy-MetaData") == "1")
        let engine = try await engine(listening)
        engine.begin(with: opening)
        let player = Player(cache: listening.cache, engine: engine, configuration: configuration)
        player.play([listening.media], from: start)
        listening.origin.release(Listening.path)
        try await eventually("it plays") { player.status == .playing && player.position > start }
        let firsts = listening.log.requests.count {
          $0.request.range?.hasPrefix("bytes=0-") ?? true
        }
        #expect(firsts == 1)
        if start == .zero { expectOneOfEachByte(listening) }
        await player.close()
        try await listening.waitUntilClosed()
      }
    }

    @Test func `A further stream of the item opens the resource by itself`() async throws {
      try await Listening.with { listening in
        let opening = try opening(listening.media, listening)
        let playback = MPVPlayback(
          item: item(listening.media), cache: listening.cache, ahead: opening)
        try await onThread {
          for _ in 0..<3 {
            let stream = try MPVStream(of: playback)
            defer { stream.cancel() }
            #expect(stream.readAll().bytes == Tune.wav)
          }
        }
        #expect(try await opening.take() == nil)
        #expect(listening.log.bytesSentTwice == 0)
      }
    }

    @Test func `A refused item that was opened ahead is requested once`() async throws {
      try await Listening.with { listening in
        let media = Media(listening.origin.url("/missing.mp3")).asEngineMedia
        let opening = try opening(media, listening)
        try await eventually("its failure is known") { opening.failure != nil }
        // Nothing asks again before an engine does.
        try await listening.waitUntilClosed()
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

    @Test func `A refusal that has just arrived is not requested again`() async throws {
      try await Listening.with { listening in
        // The stream takes over at any moment around the response.
        for number in 0..<40 {
          let path = "/missing-\(number).mp3"
          let media = Media(listening.origin.url(path))
          let opening = try opening(media, listening)
          try await listening.origin.wait(for: path) { !$0.requests.isEmpty }
          let playback = MPVPlayback(item: item(media), cache: listening.cache, ahead: opening)
          try await onThread {
            // As libmpv does.
            let error = #expect(throws: MediaCacheError.self) {
              let reader = try playback.openReader()
              _ = try reader.contentInformationBlocking()
            }
            #expect(error?.status == 404)
          }
          #expect(listening.origin.log(path).requests.count == 1)
        }
      }
    }

    @Test func `A stream that waits for the opening's response can be given up`() async throws {
      try await Listening.with(.impatient) { listening in
        listening.origin.script(Listening.path, .on(.all, .delay(nil)))
        let opening = try opening(listening.media, listening)
        try await listening.origin.wait(for: Listening.path) { $0.stalled == 1 }
        let playback = MPVPlayback(
          item: item(listening.media), cache: listening.cache, ahead: opening)
        let reading = Task { try await onThread { try playback.openReader() } }
        playback.end()
        await #expect(throws: CancellationError.self) { _ = try await reading.value }
        withExtendedLifetime(opening) {}
        try await listening.waitUntilClosed()
        listening.origin.release(Listening.path)
      }
    }

    @Test func `The first bytes are requested although more is known of the resource`()
      async throws
    {
      try await Listening.with { listening in
        let resource = try #require(listening.media.asEngineMedia.resource)
        try await listening.cache.prefetch(resource, range: 300_000..<400_000)
        listening.origin.resetLog(Listening.path)
        let opening = try opening(listening.media, listening)
        try await listening.origin.wait(for: Listening.path) { log in
          log.requests.contains { $0.request.range?.hasPrefix("bytes=0-") ?? true }
        }
        opening.end()
        try await listening.waitUntilClosed()
      }
    }

    /// What becomes of an opening that no stream takes over.
    enum Fate: CaseIterable, Sendable {
      case otherItem, stop, close, itemOver, released
    }

    @Test(arguments: Fate.allCases)
    func `An opening that is not used releases its reader and ends its request`(
      _ fate: Fate
    ) async throws {
      try await Listening.with(.impatient) { listening in
        listening.origin.script(Listening.path, .on(.all, .delay(nil)))
        var opening: OpeningAhead? = try opening(listening.media, listening, fill: .wholeResource)
        try await listening.origin.wait(for: Listening.path) { $0.stalled > 0 }
        let engine = try await engine(listening)
        switch fate {
        case .released: break
        case .itemOver:
          let item = item(listening.media, fill: .wholeResource)
          MPVPlayback(item: item, cache: listening.cache, ahead: opening).cancelWaits()
        case .otherItem:
          engine.begin(with: opening)
          engine.load(item(try listening.file("other.wav", tenths: 5)), at: .zero, isPaused: true)
        case .stop:
          engine.begin(with: opening)
          engine.stop()
        case .close:
          engine.begin(with: opening)
          await engine.close()
        }
        // The others end while somebody still has it.
        if fate == .released { opening = nil }
        try await listening.waitUntilClosed()
        withExtendedLifetime(opening) {}
        listening.origin.release(Listening.path)
        try await listening.origin.wait(for: Listening.path) { $0.running == 0 }
        #expect(listening.log.requests.count == 1)
        if fate != .close { await engine.close() }
      }
    }

    @Test func `An opening that waits for room ends with its item`() async throws {
      try await Listening.with { listening in
        try await listening.withFullCache { cache in
          let opening = try #require(OpeningAhead(listening.media, in: cache, fill: .onDemand))
          try await cache.waitForWaiter()
          let playback = MPVPlayback(item: item(listening.media), cache: cache, ahead: opening)
          let reading = Task { try await onThread { try playback.openReader() } }
          // Whether the thread of mpv waits by now or not.
          playback.end()
          await #expect(throws: CancellationError.self) { try await reading.value }
        }
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
