// SPDX-License-Identifier: MIT

/// The event streams of a player, on the main actor. An interface that lost an event would be wrong
/// from then on, and there are few: streams are unbounded, unlike those of a cache.
@MainActor
struct PlayerListeners {
  private var continuations: [AsyncStream<PlayerEvent>.Continuation] = []
  private var isFinished = false

  mutating func add() -> AsyncStream<PlayerEvent> {
    let (stream, continuation) = AsyncStream.makeStream(of: PlayerEvent.self)
    if isFinished { continuation.finish() } else { continuations.append(continuation) }
    return stream
  }

  mutating func send(_ event: PlayerEvent) {
    guard !continuations.isEmpty else { return }
    continuations.removeAll { continuation in
      if case .terminated = continuation.yield(event) { true } else { false }
    }
  }

  mutating func finish() {
    isFinished = true
    for continuation in continuations { continuation.finish() }
    continuations = []
  }
}
