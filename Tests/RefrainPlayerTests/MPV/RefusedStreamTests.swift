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
    @Test(arguments: [404, 403, 410, 501])
    func `A refused item is requested once, and again when it is loaded again`(
      _ status: Int
    ) async throws {
      try await Listening.with { listening in
        listening.origin.script("/refused.mp3", .on(.all, .status(status)))
        let media = Media(listening.origin.url("/refused.mp3"))
        let referee = try await listening.referee()
        for round in 1...2 {
          let item = referee.load(media)
          try await referee.waitUntilOver(item)
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
        let playback = listening.playback(Media(listening.origin.url("/guarded.wav")))
        playback.isHeard = isHeard
        try await onThread {
          let stream = try MPVStream(of: playback)
          defer { stream.cancel() }
          if !isHeard { #expect(stream.readOnce() == -1) }
          #expect(!playback.hasRefused(at: 0))
          #expect(stream.readOnce() > 0)
        }
        #expect(calls.load(ordering: .relaxed) == 2)
      }
    }

    @Test func `Every later read, length and opening of a refused item fails without a request`()
      async throws
    {
      try await Listening.with { listening in
        let playback = listening.playback(Media(listening.origin.url("/missing")))
        try await onThread {
          for _ in 0..<3 {
            let stream = try MPVStream(of: playback)
            defer { stream.cancel() }
            #expect(stream.readOnce() == -1 && stream.size() < 0)
            #expect(stream.seek(to: 5000) == 5000 && stream.readOnce() == -1)
          }
        }
        #expect(playback.hasRefused(at: 0) && playback.error?.status == 404)
        #expect(listening.origin.log("/missing").requests.count == 1)
      }
    }

    @Test func `A refused part is requested once, and stored bytes are still read`() async throws {
      try await Listening.with { listening in
        let place: Int64 = 3 << 20
        @Sendable func isFar(_ request: ReceivedRequest) -> Bool { request.firstByte >= place / 2 }
        listening.origin.serve(.synthetic(seed: 5, length: 4 << 20), at: "/film")
        listening.origin.script("/film", .on(.where(isFar), .status(404)))
        let playback = listening.playback(Media(listening.origin.url("/film")))
        try await onThread {
          for _ in 0..<3 {
            let stream = try MPVStream(of: playback)
            defer { stream.cancel() }
            #expect(stream.readOnce() > 0)
            #expect(stream.seek(to: place) == place && stream.readOnce() == -1)
          }
        }
        #expect(listening.origin.log("/film").requests.count { isFar($0.request) } == 1)
        #expect(playback.error?.status == 404)
      }
    }

    @Test func `An origin that is only overloaded is asked again`() async throws {
      try await Listening.with(.impatient) { listening in
        listening.origin.script(Listening.path, .on(.first(1), .status(503)))
        let playback = listening.playback()
        let counts = try await onThread {
          let stream = try MPVStream(of: playback)
          defer { stream.cancel() }
          return [stream.readOnce(), stream.readOnce()]
        }
        #expect(counts[0] == -1 && counts[1] > 0)
        #expect(!playback.hasRefused(at: 0) && playback.error == nil)
      }
    }
  }
#endif
