// SPDX-License-Identifier: MIT
import RefrainLocks

/// Delivers the events of a cache, from any thread. They come with every chunk of bytes: without
/// listeners, an event costs one atomic load, and a slow listener loses the oldest ones.
/// (`PlayerListeners` of a player, on the main actor, loses none.)
final class EventStreams: Sendable {
  /// The number of events that a slow listener may lag before it loses the oldest.
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
  /// Events from before the first listener.
  private let early = Mutex<[CacheEvent]>([])

  deinit { finish() }

  /// - Parameter takesEarly: whether this stream receives the events from before the first
  ///   listener; no other stream does.
  func stream(includingTraffic: Bool, takesEarly: Bool = true) -> AsyncStream<CacheEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: CacheEvent.self, bufferingPolicy: .bufferingNewest(Self.backlog))
    let id = nextID.add(1, ordering: .relaxed).newValue
    continuation.onTermination = { [weak self] _ in self?.remove(id) }
    listeners.withLock { listeners in
      listeners[id] = Listener(continuation: continuation, wantsTraffic: includingTraffic)
      note(listeners)
    }
    // A concurrent `finish()` either sees this listener or is seen here.
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

  /// As `send`, for events while the cache is being opened: nobody can listen yet, and the first
  /// listener receives them.
  func sendToFirstListener(_ event: CacheEvent) {
    early.withLock { $0.append(event) }
  }

  /// As `send`, for events that occur with every chunk of bytes.
  func sendTraffic(_ event: @autoclosure () -> CacheEvent) {
    guard hasTrafficListeners.load(ordering: .acquiring) else { return }
    let event = event()
    for listener in listeners.withLock({ Array($0.values) }) where listener.wantsTraffic {
      listener.continuation.yield(event)
    }
  }

  /// Ends all streams.
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

/// Something that happened in a cache.
public enum CacheEvent: Sendable {
  case opened(CacheKey)
  /// A request for this range goes to the origin.
  case fetchStarted(CacheKey, ByteRange)
  /// The fetch of this range ended: nil if it finished, or nobody wanted the bytes any more.
  case fetchFinished(CacheKey, ByteRange, MediaCacheError?)
  /// A request failed; the next one is sent after the delay. `failed` follows once no further
  /// request is worth sending.
  case retrying(CacheKey, MediaCacheError, after: Duration)
  /// Bytes came from the origin.
  case received(CacheKey, Int)
  /// A reader received bytes that were stored before it was opened.
  case servedFromDisk(CacheKey, Int)
  /// The range is stored and readable.
  case committed(CacheKey, ByteRange)
  /// The origin has another version; the next reader begins with it.
  case generationChanged(CacheKey)
  /// Bytes were removed, all or in part, to make room or on request.
  case evicted(CacheKey, bytes: Int64)
  /// A live stream changed its title from a byte on, or named its station. If several readers
  /// play it separately, `MediaReader.streamTitle(at:)` returns the title for each.
  case streamTitle(CacheKey, StreamTitle)
  case failed(CacheKey, MediaCacheError)
  /// A problem was worked around: a foreign file, a broken record, a full disk.
  case warning(String)
}
