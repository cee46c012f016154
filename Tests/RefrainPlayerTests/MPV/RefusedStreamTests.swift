// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import FoundationNetworking
  import OriginServer
  import Refrain
  import RefrainLocks
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// An origin that refuses an item for good is asked once each time that the item is loaded.
  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(1)))
  struct RefusedStreamTests {
    private func referee(_ listening: Listening, _ video: VideoConfiguration = .none) async throws
      -> EngineReferee
    {
      EngineReferee(try await MPVEngine(cache: listening.cache, output: .silent, video: video))
    }

    private nonisolated static func read(_ stream: MPVStream) -> Int64 {
      withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 16) { stream.read(into: $0) }
    }

    @Test(arguments: [404, 403, 410, 501])
    func `A refused item is requested once, and again when it is loaded again`(
      _ status: Int
    ) async throws {
      try await Listening.with { listening in
        listening.origin.script("/refused.mp3", .on(.all, .status(status)))
        let media = Media(listening.origin.url("/refused.mp3"))
        let referee = try await referee(listening)
        for round in 1...2 {
          let item = referee.load(media)
          try await eventually("it fails") { referee.isOver(item) }
          #expect(referee.failure(of: item)?.status == status)
          // The origin may refuse the range alone: it is asked once more without.
          let requests = [403, 501].contains(status) ? 2 : 1
          #expect(listening.origin.log("/refused.mp3").requests.count == round * requests)
        }
        await referee.close()
      }
    }

    /// - Parameter isHeard: whether the item was heard, and its read waits for the network.
    @Test(arguments: [false, true])
    func `An item is requested again after the network has interrupted its authorization`(
      isHeard: Bool
    ) async throws {
      let calls = Atomic(0)
      var configuration = MediaCache.Configuration()
      configuration.authorize = { resource, _ in
        guard calls.add(1, ordering: .relaxed).newValue > 1 else {
          throw URLError(.notConnectedToInternet)
        }
        var renewed = resource
        renewed.headers["Authorization"] = "Bearer new"
        return renewed
      }
      try await Listening.with(configuration) { listening in
        var guarded = Tune.resource
        guarded.requiredHeader = Field("Authorization", "Bearer new")
        listening.origin.serve(guarded, at: "/guarded.wav")
        let item = EngineItem(
          id: EngineItem.ID(rawValue: 1), media: Media(listening.origin.url("/guarded.wav")),
          fill: .onDemand)
        let playback = MPVPlayback(item: item, cache: listening.cache)
        playback.isHeard = isHeard
        try await onThread {
          let stream = try MPVStream(of: playback)
          defer { stream.cancel() }
          if !isHeard { #expect(Self.read(stream) == -1) }
          #expect(!playback.hasRefused(at: 0))
          #expect(Self.read(stream) > 0)
        }
        #expect(calls.load(ordering: .relaxed) == 2)
      }
    }

    @Test func `A missing subtitle is requested once`() async throws {
      try await Listening.with { listening in
        let missing = listening.origin.url("/missing.srt")
        var media = try listening.file("film.wav", tenths: 10)
        media.subtitles = [.init(missing)]
        let referee = try await referee(listening, .window)
        let item = referee.load(media)
        try await eventually("it ends") { referee.isOver(item) }
        await referee.close()
        let failures = referee.events.compactMap { event -> Int? in
          if case .subtitleFailed(item, missing, let error) = event { error.status } else { nil }
        }
        #expect(failures == [404])
        #expect(listening.origin.log("/missing.srt").requests.count == 1)
      }
    }

    @Test func `Every later read, length and opening of a refused item fails without a request`()
      async throws
    {
      try await Listening.with { listening in
        let item = EngineItem(
          id: EngineItem.ID(rawValue: 1), media: Media(listening.origin.url("/missing")),
          fill: .onDemand)
        let playback = MPVPlayback(item: item, cache: listening.cache)
        try await onThread {
          for _ in 0..<3 {
            let stream = try MPVStream(of: playback)
            defer { stream.cancel() }
            #expect(Self.read(stream) == -1 && stream.size() < 0)
            #expect(stream.seek(to: 5000) == 5000 && Self.read(stream) == -1)
          }
        }
        #expect(playback.hasRefused(at: 0) && playback.error?.status == 404)
        #expect(listening.origin.log("/missing").requests.count == 1)
      }
    }

    @Test func `A refused part is requested once, and stored bytes are still read`() async throws {
      try await Listening.with { listening in
        let place: Int64 = 3 << 20
        @Sendable func isFar(_ request: ReceivedRequest) -> Bool {
          let first = request.range?.dropFirst("bytes=".count).prefix { $0 != "-" }
          return first.flatMap { Int64($0) }.map { $0 >= place / 2 } ?? false
        }
        listening.origin.serve(.synthetic(seed: 5, length: 4 << 20), at: "/film")
        listening.origin.script("/film", .on(.where(isFar), .status(404)))
        let item = EngineItem(
          id: EngineItem.ID(rawValue: 1), media: Media(listening.origin.url("/film")),
          fill: .onDemand)
        let playback = MPVPlayback(item: item, cache: listening.cache)
        try await onThread {
          for _ in 0..<3 {
            let stream = try MPVStream(of: playback)
            defer { stream.cancel() }
            #expect(Self.read(stream) > 0)
            #expect(stream.seek(to: place) == place && Self.read(stream) == -1)
          }
        }
        #expect(listening.origin.log("/film").requests.count { isFar($0.request) } == 1)
        #expect(playback.error?.status == 404)
      }
    }

    @Test func `An origin that is only overloaded is asked again`() async throws {
      var configuration = MediaCache.Configuration()
      configuration.retry.attempts = 1
      configuration.retry.firstDelay = .milliseconds(1)
      try await Listening.with(configuration) { listening in
        listening.origin.script(Listening.path, .on(.first(1), .status(503)))
        let item = EngineItem(
          id: EngineItem.ID(rawValue: 1), media: listening.media, fill: .onDemand)
        let playback = MPVPlayback(item: item, cache: listening.cache)
        let counts = try await onThread {
          let stream = try MPVStream(of: playback)
          defer { stream.cancel() }
          return [Self.read(stream), Self.read(stream)]
        }
        #expect(counts[0] == -1 && counts[1] > 0)
        #expect(!playback.hasRefused(at: 0) && playback.error == nil)
      }
    }
  }
#endif
