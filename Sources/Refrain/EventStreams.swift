// SPDX-License-Identifier: MIT
import Synchronization

/// Hands events to whoever listens. Where nobody does, an event costs the reading of a flag.
final class EventStreams: Sendable {
  /// What a slow listener may be behind before it loses the oldest.
  private static let backlog = 4096

  private struct Listener {
    var continuation: AsyncStream<CacheEvent>.Continuation
    var wantsTraffic: Bool
  }

  private let hasListeners = Atomic(false)
  private let hasTrafficListeners = Atomic(false)
  private let listeners = Mutex<[UInt64: Listener]>([:])
  private let isFinished = Atomic(false)
  private let nextID = Atomic<UInt64>(0)
  /// What happened before anybody could listen.
  private let early = Mutex<[CacheEvent]>([])

  deinit { finish() }

  /// - Parameter takesEarly: it is told what happened before anybody could listen, and nobody else.
  func stream(includingTraffic: Bool, takesEarly: Bool = true) -> AsyncStream<CacheEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: CacheEvent.self, bufferingPolicy: .bufferingNewest(Self.backlog))
    let id = nextID.add(1, ordering: .relaxed).newValue
    continuation.onTermination = { [weak self] _ in self?.remove(id) }
    listeners.withLock { listeners in
      listeners[id] = Listener(continuation: continuation, wantsTraffic: includingTraffic)
      note(listeners)
    }
    // Whoever finishes sees it among the listeners, or is seen here.
    if isFinished.load(ordering: .sequentiallyConsistent) { continuation.finish() }
    guard takesEarly else { return stream }
    let missed = early.withLock { early in
      defer { early = [] }
      return early
    }
    for event in missed { continuation.yield(event) }
    return stream
  }

  private func note(_ listeners: [UInt64: Listener]) {
    hasListeners.store(!listeners.isEmpty, ordering: .releasing)
    hasTrafficListeners.store(
      listeners.values.contains(where: \.wantsTraffic), ordering: .releasing)
  }

  func send(_ event: @autoclosure () -> CacheEvent) {
    guard hasListeners.load(ordering: .acquiring) else { return }
    let event = event()
    for listener in listeners.withLock({ Array($0.values) }) { listener.continuation.yield(event) }
  }

  /// As `send`, for what happens while the cache is opened: nobody can listen yet, and the first who
  /// does is told.
  func sendToFirstListener(_ event: CacheEvent) {
    early.withLock { $0.append(event) }
  }

  /// As `send`, for what happens with every chunk of bytes.
  func sendTraffic(_ event: @autoclosure () -> CacheEvent) {
    guard hasTrafficListeners.load(ordering: .acquiring) else { return }
    let event = event()
    for listener in listeners.withLock({ Array($0.values) }) where listener.wantsTraffic {
      listener.continuation.yield(event)
    }
  }

  /// No event comes any more.
  func finish() {
    isFinished.store(true, ordering: .sequentiallyConsistent)
    for listener in listeners.withLock({ Array($0.values) }) { listener.continuation.finish() }
  }

  private func remove(_ id: UInt64) {
    listeners.withLock { listeners in
      listeners[id] = nil
      note(listeners)
    }
  }
}
