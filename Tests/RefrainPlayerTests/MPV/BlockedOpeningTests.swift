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
        try await listening.withFullCache { try await body(listening.media, $0, $1) }
      }
    }

    @Test func `An opening ends when its item is over`() async throws {
      try await with { media, cache, slots in
        let playback = MPVPlayback(item: EngineItem(media, fill: .wholeResource), cache: cache)
        let opening = Task { try await onThread { try playback.openReader() } }
        try await eventually("it waits") { slots.waiting == 1 }
        playback.end()
        await #expect(throws: CancellationError.self) { try await opening.value }
      }
    }

    @Test func `An opening that begins when its item is over ends`() async throws {
      try await with { media, cache, _ in
        let playback = MPVPlayback(item: EngineItem(media, fill: .wholeResource), cache: cache)
        playback.end()
        await #expect(throws: CancellationError.self) {
          try await onThread { try playback.openReader() }
        }
      }
    }

    @Test func `An engine closes while an item is being opened`() async throws {
      try await with { media, cache, slots in
        let engine = try await MPVEngine(cache: cache, output: .silent)
        engine.load(EngineItem(media, fill: .wholeResource), at: .zero, isPaused: true)
        try await eventually("it waits") { slots.waiting == 1 }
        await engine.close()
      }
    }
  }
#endif
