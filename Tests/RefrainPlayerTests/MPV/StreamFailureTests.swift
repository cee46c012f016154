// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// The state after a failed read.
  @MainActor
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
    @Test(.enabled(if: RequiredLibrary.libmpv.isUsable))
    func `A successful read elsewhere does not hide a failed one`() async throws {
      try await Listening.with(.impatient) { listening in
        listening.origin.script(
          Listening.path,
          .on(.first(1), .drop(at: .body(33_000))).on(.from(2), .drop(at: .body(0), reset: true)))
        let playback = listening.playback()
        let reads = try await onThread {
          let stream = try MPVStream(of: playback)
          defer { stream.cancel() }
          let read = stream.readAll()
          #expect(stream.seek(to: 0) == 0)
          return (read.bytes.count, read.last, again: stream.readOnce())
        }
        #expect(reads.1 == -1 && reads.again > 0)
        #expect((1...33_000).contains(reads.0))
        #expect(playback.error?.code == .unreachable)

        // The origin is reachable again.
        listening.origin.script(Listening.path, FaultScript())
        let rest = try await onThread {
          let stream = try MPVStream(of: playback)
          defer { stream.cancel() }
          return stream.readAll().bytes.count
        }
        #expect(rest == Int(Listening.length) && playback.error == nil)
      }
    }

    /// The engine's own tries take eight seconds: all of these wait at once.
    @Test(.enabled(if: RequiredLibrary.libmpv.isUsable))
    func `An outage before the first sound is not reported as the end of the item`() async throws {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for isSilent in [true, true, true, true, false, false, false, false] {
          group.addTask { try await loseOrigin(isSilent: isSilent) }
        }
        try await group.waitForAll()
      }
    }

    private func loseOrigin(isSilent: Bool) async throws {
      try await Listening.with(.impatient) { listening in
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
          engine: try await MPVEngine(cache: listening.cache, output: isSilent ? .silent : file))
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

    @Test(arguments: [(60, true), (195, false)])
    func `A stream is complete at the end that its manifest states`(
      _ position: Int, _ isIncomplete: Bool
    ) async throws {
      try await Listening.with { listening in
        let playback = listening.playback(Media(listening.origin.url("/live.m3u8")))
        playback.openedStream(lasting: .seconds(200))
        playback.noteStream(position: .seconds(position))
        #expect(playback.isStreamIncomplete == isIncomplete)
      }
    }
  }
#endif
