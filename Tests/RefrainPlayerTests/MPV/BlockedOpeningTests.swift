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
      playback.leave()
      playback.cancelWaits()
    }

    @Test func `An opening ends when its item is over`() async throws {
      try await with { media, cache, slots in
        let playback = MPVPlayback(item: item(media), cache: cache)
        let opening = Task { try await onThread { try playback.openReader() } }
        try await eventually("it waits") { slots.waiting == 1 }
        forget(playback)
        await #expect(throws: CancellationError.self) { try await opening.value }
      }
    }

    @Test func `An opening that begins when its item is over ends`() async throws {
      try await with { media, cache, _ in
        let playback = MPVPlayback(item: item(media), cache: cache)
        forget(playback)
        await #expect(throws: CancellationError.self) {
          try await onThread { try playback.openReader() }
        }
      }
    }

    @Test func `An engine closes while an item is being opened`() async throws {
      try await with { media, cache, slots in
        let engine = try await MPVEngine(cache: cache, output: .silent)
        engine.load(item(media), at: .zero, isPaused: true)
        try await eventually("it waits") { slots.waiting == 1 }
        await engine.close()
      }
    }
  }
#endif
