// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// The state after a failed read.
  @Suite(.timeLimit(.minutes(2)))
  struct StreamFailureTests {
    private let lost = MediaCacheError(.unreachable, "The connection broke.")

    @Test func `A failure remains until the missing byte itself is read`() {
      var failures = StreamFailures()
      failures.succeed(in: 0..<33_000)
      #expect(failures.error == nil)
      failures.fail(at: 33_000, lost)
      failures.succeed(in: 0..<33_000)
      failures.succeed(in: 40_000..<50_000)
      failures.succeed(in: 50_000..<50_000)
      #expect(failures.error == lost)
      failures.succeed(in: 32_000..<33_001)
      #expect(failures.error == nil)
    }

    @Test func `The latest remaining failure is the reason`() {
      let refused = MediaCacheError(.status, "The origin answered 500.", status: 500)
      var failures = StreamFailures()
      failures.fail(at: 10, lost)
      failures.fail(at: 20, refused)
      #expect(failures.error == refused)
      failures.succeed(in: 20..<30)
      #expect(failures.error == lost)
      failures.fail(at: 10, refused)
      failures.succeed(in: 10..<11)
      #expect(failures.error == nil)
    }

    @Test func `A refusal is final for its byte, and for all if none was read`() {
      let refused = MediaCacheError(.status, "The origin answered 404.", status: 404)
      var failures = StreamFailures()
      for passing in [lost, MediaCacheError(.status, "It answered 503.", status: 503)] {
        failures.fail(at: 0, passing)
        #expect(failures.refusal(at: 0) == nil)
      }
      failures.fail(at: 0, refused)
      #expect(failures.refusal(at: 0) == refused && failures.refusal(at: 10) == refused)
      failures.succeed(in: 0..<0)
      #expect(failures.refusal(at: 10) == refused)
      failures.succeed(in: 0..<10)
      failures.fail(at: 10, refused)
      #expect(failures.refusal(at: 10) == refused)
      #expect(failures.refusal(at: 0) == nil && failures.refusal(at: 11) == nil)
    }

    /// Reads as a demuxer does: up to the end of the available bytes, at the end of the file, and
    /// again from the start.
    @MainActor
    @Test(.enabled(if: RequiredLibrary.libmpv.isUsable))
    func `A successful read elsewhere does not hide a failed one`() async throws {
      var configuration = MediaCache.Configuration()
      configuration.retry.attempts = 1
      configuration.retry.firstDelay = .milliseconds(1)
      configuration.firstRequest = 256 << 10
      try await Listening.with(configuration) { listening in
        listening.origin.script(
          Listening.path,
          .on(.first(1), .drop(at: .body(33_000))).on(.from(2), .drop(at: .body(0), reset: true)))
        let item = EngineItem(
          id: EngineItem.ID(rawValue: 1), media: listening.media, fill: .onDemand)
        let playback = MPVPlayback(item: item, cache: listening.cache)
        let reads = try await onThread {
          let stream = try MPVStream(of: playback)
          defer { stream.cancel() }
          var total: Int64 = 0
          var last = Self.read(stream)
          while last > 0 {
            total += last
            last = Self.read(stream)
          }
          #expect(stream.seek(to: 0) == 0)
          return (total: total, last: last, again: Self.read(stream))
        }
        #expect(reads.last == -1 && reads.again > 0)
        #expect((1...33_000).contains(reads.total))
        #expect(playback.error?.code == .unreachable)

        // The origin is reachable again.
        listening.origin.script(Listening.path, FaultScript())
        let rest = try await onThread {
          let stream = try MPVStream(of: playback)
          defer { stream.cancel() }
          var total: Int64 = 0
          while case let count = Self.read(stream), count > 0 { total += count }
          return total
        }
        #expect(rest == Listening.length && playback.error == nil)
      }
    }

    @MainActor
    @Test(.enabled(if: RequiredLibrary.libmpv.isUsable), arguments: [AudioOutput.silent, nil])
    func `An outage before the first sound is not reported as the end of the item`(
      _ output: AudioOutput?
    ) async throws {
      var configuration = MediaCache.Configuration()
      configuration.retry.attempts = 1
      configuration.retry.firstDelay = .milliseconds(1)
      configuration.firstRequest = 256 << 10
      for _ in 0..<4 {
        try await Listening.with(configuration) { listening in
          listening.origin.serve(
            OriginResource(
              .bytes(SilentMP3.lasting(seconds: 90)), contentType: "audio/mpeg", etag: "\"mp3\""),
            at: "/long.mp3")
          listening.origin.script(
            "/long.mp3",
            .on(.first(1), .drop(at: .body(33_000))).on(.from(2), .drop(at: .body(0), reset: true)))
          let file = AudioOutput.wavFile(listening.directory.appending(path: "heard.wav"))
          let player = Player(
            cache: listening.cache,
            engine: try await MPVEngine(cache: listening.cache, output: output ?? file))
          let events = player.events()
          player.play(Media(listening.origin.url("/long.mp3")))
          for await event in events {
            if case .finished = event { Issue.record("it ended with 2 % of its bytes") }
            if event == .status(.ended) { break }
            if case .status(.failed(let error)) = event {
              #expect(error.code == .unreachable)
              break
            }
            if case .status(.buffering(.network)) = event { break }
          }
          await player.close()
        }
      }
    }

    private static func read(_ stream: MPVStream) -> Int64 {
      withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 16) { stream.read(into: $0) }
    }
  }
#endif
