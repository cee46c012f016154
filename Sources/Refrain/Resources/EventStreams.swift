// SPDX-License-Identifier: MIT
import RefrainLocks

/// Delivers the events of a cache, from any thread. They come with every chunk of bytes: without
/// listeners, an event costs one atomic load, and a slow listener loses the oldest ones.
final class EventStreams: Sendable {
  private struct Listener {
    var continuation: AsyncStream<CacheEvent>.Continuation
    var wantsTraffic: Bool
    var wants: @Sendable (CacheEvent) -> Bool
  }

  private struct State {
    var listeners: [UInt64: Listener] = [:]
    var nextID: UInt64 = 0
    var isFinished = false
    /// Events from before anybody could listen, for the first who wants them.
    var unheard: [CacheEvent]
  }

  /// 0: nobody listens; 1: not to traffic; 2: also to that.
  private let demand = Atomic(0)
  private let state: Mutex<State>

  init(unheard: [CacheEvent] = []) { state = Mutex(State(unheard: unheard)) }

  deinit { finish() }

  /// - Parameter wants: chooses the events. Called on the sender's thread, which may hold locks.
  func stream(
    includingTraffic: Bool, backlog: Int = 4096,
    where wants: @Sendable @escaping (CacheEvent) -> Bool = { _ in true }
  ) -> AsyncStream<CacheEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: CacheEvent.self, bufferingPolicy: .bufferingNewest(backlog))
    let (id, isFinished) = change { state in
      for event in state.unheard where wants(event) { continuation.yield(event) }
      state.unheard.removeAll(where: wants)
      state.nextID += 1
      state.listeners[state.nextID] = Listener(
        continuation: continuation, wantsTraffic: includingTraffic, wants: wants)
      return (state.nextID, state.isFinished)
    }
    continuation.onTermination = { [weak self] _ in self?.change { $0.listeners[id] = nil } }
    if isFinished { continuation.finish() }
    return stream
  }

  private func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
    state.withLock { state in
      defer {
        let demands = state.listeners.values.map { $0.wantsTraffic ? 2 : 1 }
        demand.store(demands.max() ?? 0, ordering: .releasing)
      }
      return body(&state)
    }
  }

  func send(_ event: @autoclosure () -> CacheEvent) { deliver(event, isTraffic: false) }

  /// As `send`, for events that occur with every chunk of bytes.
  func sendTraffic(_ event: @autoclosure () -> CacheEvent) { deliver(event, isTraffic: true) }

  private func deliver(_ event: () -> CacheEvent, isTraffic: Bool) {
    guard demand.load(ordering: .acquiring) > (isTraffic ? 1 : 0) else { return }
    let event = event()
    for listener in listeners where (listener.wantsTraffic || !isTraffic) && listener.wants(event) {
      listener.continuation.yield(event)
    }
  }

  func finish() {
    state.withLock { $0.isFinished = true }
    for listener in listeners { listener.continuation.finish() }
  }

  private var listeners: [Listener] { state.withLock { Array($0.listeners.values) } }
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
