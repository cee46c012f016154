// SPDX-License-Identifier: MIT
import Synchronization

/// Hands events to whoever listens. Where nobody does, an event costs the reading of a flag.
final class EventStreams: Sendable {
  /// What a slow listener may be behind before it loses the oldest.
  private static let backlog = 4096

  private let hasListeners = Atomic(false)
  private let listeners = Mutex<[UInt64: AsyncStream<CacheEvent>.Continuation]>([:])
  private let nextID = Atomic<UInt64>(0)

  func stream() -> AsyncStream<CacheEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: CacheEvent.self, bufferingPolicy: .bufferingNewest(Self.backlog))
    let id = nextID.add(1, ordering: .relaxed).newValue
    continuation.onTermination = { [weak self] _ in self?.remove(id) }
    listeners.withLock { listeners in
      listeners[id] = continuation
      hasListeners.store(true, ordering: .releasing)
    }
    return stream
  }

  func send(_ event: @autoclosure () -> CacheEvent) {
    guard hasListeners.load(ordering: .acquiring) else { return }
    let event = event()
    for listener in listeners.withLock({ Array($0.values) }) { listener.yield(event) }
  }

  /// No event comes any more.
  func finish() {
    for listener in listeners.withLock({ Array($0.values) }) { listener.finish() }
  }

  private func remove(_ id: UInt64) {
    listeners.withLock { listeners in
      listeners[id] = nil
      hasListeners.store(!listeners.isEmpty, ordering: .releasing)
    }
  }
}
