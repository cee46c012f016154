// SPDX-License-Identifier: MIT
import Refrain
import RefrainLocks

/// Fetches the rest of resources that clients have begun, even after the clients leave.
final class BackgroundFills: Sendable {
  private struct State {
    var running: [CacheKey: Task<Void, Never>] = [:]
    var isOver = false
  }

  private let cache: MediaCache
  private let mostRunning: Int
  private let state = Mutex(State())

  /// - Parameter mostRunning: the most fetches, of which most wait for a place to open their entry;
  ///   a further one is begun again by its next client.
  init(cache: MediaCache, mostRunning: Int = 10_000) {
    self.cache = cache
    self.mostRunning = mostRunning
  }

  /// Begins to fetch the resource, unless it is being fetched.
  func begin(_ resource: Resource) {
    let key = cache.key(for: resource)
    state.withLock { state in
      guard state.running[key] == nil, state.running.count < mostRunning, !state.isOver else {
        return
      }
      let cache = cache
      state.running[key] = Task {
        // Errors are reported by the cache's events; the next client begins the fetch again.
        _ = try? await cache.prefetch(resource)
        self.state.withLock { $0.running[key] = nil }
      }
    }
  }

  func stop() async {
    let tasks = state.withLock { state in
      state.isOver = true
      return Array(state.running.values)
    }
    for task in tasks { task.cancel() }
    for task in tasks { await task.value }
  }
}
