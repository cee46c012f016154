// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  @testable import Refrain
  @testable import RefrainPlayer

  /// A stream that libmpv cancels, or that a seek interrupts, releases its readers at once, whatever
  /// it waits for.
  @MainActor
  @Suite(.timeLimit(.minutes(1)))
  struct StreamReleaseTests {
    /// What mpv's thread waits for.
    enum Waiting: CaseIterable, Sendable {
      case firstByte, length, furtherBytes, lostOrigin

      var script: FaultScript {
        switch self {
        case .firstByte, .length: .on(.all, .delay(nil))
        case .furtherBytes: .on(.all, .stall(at: .resource(33_000)))
        case .lostOrigin:
          .on(.first(1), .drop(at: .body(33_000))).on(.from(2), .closeWithoutAnswer)
        }
      }
    }

    /// Whether a read has ended.
    @MainActor private final class Ending {
      var hasCome = false
    }

    /// The number of readers of the tune, without one that fills the cache in the background.
    private func readers(_ listening: Listening) -> Int {
      let table = listening.cache.table
      return table.openEntries.compactMap(\.current).reduce(0) {
        $0 + $1.withState { $0.readers.values.count { !$0.isBackground } }
      }
    }

    private func readersLeave(_ listening: Listening) async throws {
      #expect(readers(listening) == 0)
      try await listening.waitUntilClosed()
      listening.origin.release(Listening.path)
      try await listening.origin.wait(for: Listening.path) { $0.running == 0 }
    }

    @Test(arguments: Waiting.allCases, [FillPolicy.onDemand, .wholeResource])
    func `A cancelled stream has no reader any more`(
      _ waiting: Waiting, _ fill: FillPolicy
    ) async throws {
      try await Listening.with(.impatient) { listening in
        listening.origin.script(Listening.path, waiting.script)
        let playback = listening.playback(fill: fill)
        // A read that waits for a lost network is one of an item that plays.
        playback.isHeard = true
        let stream = try await onThread { try MPVStream(of: playback) }
        let result = Task {
          try await onThread {
            waiting == .length ? stream.size() : stream.readAll().last
          }
        }
        switch waiting {
        case .firstByte, .length:
          try await listening.origin.wait(for: Listening.path) { $0.stalled > 0 }
        case .furtherBytes:
          try await listening.origin.wait(for: Listening.path) { $0.stalled > 0 }
          try await eventually("it waits") { stream.isReading }
        case .lostOrigin:
          try await eventually("it waits for the network") { playback.absence != nil }
        }
        stream.cancel()
        let count = try await result.value
        #expect(count < 0)
        #expect(playback.error == nil || waiting == .lostOrigin)
        try await readersLeave(listening)
      }
    }

    @Test func `A stream that was cancelled before it reads or has a length asks for nothing`()
      async throws
    {
      try await Listening.with(.impatient) { listening in
        let playback = listening.playback()
        let results = try await onThread {
          let stream = try MPVStream(of: playback)
          stream.cancel()
          return [stream.readAll().last, stream.size(), stream.readAll().last]
        }
        #expect(results.allSatisfy { $0 < 0 } && playback.error == nil)
        try await readersLeave(listening)
        #expect(listening.log.requests.isEmpty)
      }
    }

    @Test func `Readers that seeks have interrupted are not kept`() async throws {
      try await Listening.with(.impatient) { listening in
        listening.origin.script(Listening.path, .on(.all, .stall(at: .resource(33_000))))
        let playback = listening.playback()
        let stream = try await onThread { try MPVStream(of: playback) }
        for round in 1...20 as ClosedRange<Int64> {
          let end = Ending()
          let result = Task {
            defer { end.hasCome = true }
            return try await onThread { stream.readAll().last }
          }
          // A seek that comes just before the wait has no effect; libmpv's loop looks again.
          try await eventually("it waits, and is interrupted") {
            if playback.statistics?.bytesRead == round * 33_000, stream.isReading {
              playback.expectSeek()
              playback.interruptReads()
            }
            return end.hasCome
          }
          let count = try await result.value
          #expect(count == -1 && playback.readers.count <= 3 && readers(listening) == 1)
          #expect(stream.seek(to: 0) == 0)
        }
        // A part that several readers have read from disk counts once.
        let statistics = try #require(playback.statistics)
        #expect(statistics.bytesRead == 20 * 33_000 && statistics.bytesFromDisk <= 33_000)
        #expect(playback.error == nil)
        stream.cancel()
        try await readersLeave(listening)
      }
    }

    // MARK: Openings while too many other resources are open

    private func withFullCache(
      _ body: (Media, MediaCache) async throws -> Void
    ) async throws {
      try await Listening.with { listening in
        try await listening.withFullCache { try await body(listening.media, $0) }
      }
    }

    @Test func `An opening ends when its item is over`() async throws {
      try await withFullCache { media, cache in
        let playback = MPVPlayback(item: EngineItem(media, fill: .wholeResource), cache: cache)
        let opening = Task { try await onThread { try playback.openReader() } }
        try await cache.waitForWaiter()
        playback.end()
        await #expect(throws: CancellationError.self) { try await opening.value }
      }
    }

    @Test func `An opening that begins when its item is over ends`() async throws {
      try await withFullCache { media, cache in
        let playback = MPVPlayback(item: EngineItem(media, fill: .wholeResource), cache: cache)
        playback.end()
        await #expect(throws: CancellationError.self) {
          try await onThread { try playback.openReader() }
        }
      }
    }

    @Test(.enabled(if: RequiredLibrary.libmpv.isUsable))
    func `An engine closes while an item is being opened`() async throws {
      try await withFullCache { media, cache in
        let engine = try await MPVEngine(cache: cache, output: .silent)
        engine.load(EngineItem(media, fill: .wholeResource), at: .zero, isPaused: true)
        try await cache.waitForWaiter()
        await engine.close()
      }
    }
  }
#endif
