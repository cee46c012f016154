// SPDX-License-Identifier: MIT
import Refrain
import RefrainLocks

/// Fetches the rest of resources that clients have begun, even after the clients leave; at certain
/// hours only, if there are any.
final class BackgroundFills: Sendable {
  private struct State {
    /// When to fetch; nil: always.
    var hours: CacheProxy.FillHours?
    var running: [CacheKey: (task: Task<Void, Never>, resource: Resource)] = [:]
    /// Outside of the hours, in order.
    var waiting: [Resource] = []
    var waitingKeys: Set<CacheKey> = []
    var isOver = false

    func isOpen(at minute: Int) -> Bool { hours?.contains(minute: minute) ?? true }
  }

  /// The resources that may wait, or run without hours; a further one is begun again by its next
  /// client.
  static let mostWaiting = 10_000
  /// The fetches at a time, if there are hours: many may wait for their beginning.
  private static let mostAtOnce = 4

  private let cache: MediaCache
  private let mostRunning: Int
  private let minuteOfDay: @Sendable () -> Int
  private let state: Mutex<State>

  /// - Parameters:
  ///   - hours: when to fetch; nil: always.
  ///   - mostRunning: the most fetches without hours, of which most wait for a place to open their
  ///     entry.
  ///   - minuteOfDay: returns the minutes since midnight.
  init(
    cache: MediaCache, hours: CacheProxy.FillHours? = nil,
    mostRunning: Int = BackgroundFills.mostWaiting,
    minuteOfDay: @escaping @Sendable () -> Int = { CacheProxy.FillHours.minuteOfDay() }
  ) {
    self.cache = cache
    state = Mutex(State(hours: hours))
    self.mostRunning = mostRunning
    self.minuteOfDay = minuteOfDay
  }

  /// Changes when to fetch. Takes effect on what runs and waits with the next `followHours()`.
  func update(_ hours: CacheProxy.FillHours?) { state.withLock { $0.hours = hours } }

  /// The number of resources that wait for the hours.
  var waitingCount: Int { state.withLock { $0.waiting.count } }

  /// Begins to fetch the resource, now or as soon as the hours permit, unless it is being fetched.
  func begin(_ resource: Resource) {
    let key = cache.key(for: resource)
    let minute = minuteOfDay()
    state.withLock { state in
      guard state.running[key] == nil, !state.isOver else { return }
      if state.hours == nil {
        guard state.running.count < mostRunning else { return }
        begin(resource, key, &state)
      } else {
        Self.hold(resource, key, &state)
        if state.isOpen(at: minute) { beginWaiting(&state) }
      }
    }
  }

  private func begin(_ resource: Resource, _ key: CacheKey, _ state: inout State) {
    let cache = cache
    let task = Task {
      // Errors are reported by the cache's events; the next client begins the fetch again.
      _ = try? await cache.prefetch(resource)
      ended(key)
    }
    state.running[key] = (task, resource)
  }

  private func ended(_ key: CacheKey) {
    let minute = minuteOfDay()
    state.withLock { state in
      state.running[key] = nil
      if state.isOpen(at: minute), !state.isOver { beginWaiting(&state) }
    }
  }

  private static func hold(_ resource: Resource, _ key: CacheKey, _ state: inout State) {
    guard state.waiting.count < mostWaiting, state.waitingKeys.insert(key).inserted else { return }
    state.waiting.append(resource)
  }

  private func beginWaiting(_ state: inout State) {
    let count = min(state.waiting.count, max(0, Self.mostAtOnce - state.running.count))
    let next = Array(state.waiting.prefix(count))
    state.waiting.removeFirst(count)
    for resource in next {
      let key = cache.key(for: resource)
      if state.running[key] == nil {
        state.waitingKeys.remove(key)
        begin(resource, key, &state)
      } else {
        // One that was ended with the last hours is still under way, and is followed by this one.
        state.waiting.append(resource)
      }
    }
  }

  /// Begins what waits once the hours have begun, or there are none any more; ends what runs once
  /// they are over. Called every few seconds.
  func followHours() {
    let minute = minuteOfDay()
    let ended = state.withLock { state -> [Task<Void, Never>] in
      guard !state.isOver else { return [] }
      guard !state.isOpen(at: minute) else {
        beginWaiting(&state)
        return []
      }
      for (key, fill) in state.running { Self.hold(fill.resource, key, &state) }
      return state.running.values.map(\.task)
    }
    for task in ended { task.cancel() }
  }

  func stop() async {
    let tasks = state.withLock { state in
      state.isOver = true
      (state.waiting, state.waitingKeys) = ([], [])
      return state.running.values.map(\.task)
    }
    for task in tasks { task.cancel() }
    for task in tasks { await task.value }
  }
}
