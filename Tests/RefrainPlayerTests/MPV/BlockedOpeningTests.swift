// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import Refrain
  @testable import RefrainPlayer

  /// An item whose resource cannot be opened for now, since too many others are open: a thread of
  /// mpv waits for it, for as long as the item is wanted.
  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(1)))
  struct BlockedOpeningTests {
    private func with(
      _ body: (Media, MediaCache, EntrySlots) async throws -> Void
    ) async throws {
      try await Listening.with { listening in
        let slots = EntrySlots(patience: .seconds(1000)) { 1 }
        let cache = try MediaCache(
          directory: listening.directory.appending(path: "full"),
          configuration: MediaCache.Configuration(), disk: SystemDisk(), slots: slots)
        let other = try await cache.open(try #require(listening.tracks[0].resource))
        try await body(listening.media, cache, slots)
        try await eventually("nothing waits any more") { slots.waiting == 0 }
        other.cancel()
        await cache.close()
      }
    }

    private func item(_ media: Media) -> EngineItem {
      EngineItem(id: EngineItem.ID(rawValue: 1), media: media, fill: .wholeResource)
    }

    /// As libmpv's thread does when an item is over.
    private nonisolated func forget(_ playback: MPVPlayback) {
      playback.stopRecording()
      playback.cancelWaits()
    }

    @Test(arguments: [true, false])
    func `An opening ends when its item is over`(_ isAhead: Bool) async throws {
      try await with { media, cache, slots in
        let playback = MPVPlayback(
          item: item(media), cache: cache, ahead: isAhead ? OpeningAhead(media, in: cache) : nil)
        let opening = Task { try await onThread { try playback.openReader() } }
        try await eventually("it waits") { slots.waiting == 1 }
        forget(playback)
        await #expect(throws: CancellationError.self) { try await opening.value }
      }
    }

    @Test(arguments: [true, false])
    func `An opening that begins when its item is over ends`(_ isAhead: Bool) async throws {
      try await with { media, cache, _ in
        let playback = MPVPlayback(
          item: item(media), cache: cache, ahead: isAhead ? OpeningAhead(media, in: cache) : nil)
        forget(playback)
        await #expect(throws: CancellationError.self) {
          try await onThread { try playback.openReader() }
        }
      }
    }

    @Test(arguments: [true, false])
    func `An engine closes while an item is being opened`(_ isAhead: Bool) async throws {
      try await with { media, cache, slots in
        let engine = try await MPVEngine(cache: cache, output: .silent)
        if isAhead { engine.begin(with: OpeningAhead(media, in: cache)) }
        engine.load(item(media), at: .zero, isPaused: true)
        try await eventually("it waits") { slots.waiting == 1 }
        await engine.close()
      }
    }
  }
#endif
