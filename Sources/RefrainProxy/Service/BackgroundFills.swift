// SPDX-License-Identifier: MIT
import Refrain
import RefrainLocks

/// Fetches the rest of resources that clients have begun, even after the clients leave.
final class BackgroundFills: Sendable {
  private let cache: MediaCache
  private let tasks = Mutex<[CacheKey: Task<Void, Never>]>([:])
  private let isOver = Atomic(false)

  init(cache: MediaCache) { self.cache = cache }

  /// Begins to fetch the resource, unless it is being fetched.
  func begin(_ resource: Resource) {
    let key = cache.key(for: resource)
    let cache = cache
    tasks.withLock { tasks in
      guard tasks[key] == nil, !isOver.load(ordering: .relaxed) else { return }
      tasks[key] = Task {
        // Errors are reported by the cache's events; the next client begins the fetch again.
        _ = try? await cache.prefetch(resource)
        self.tasks.withLock { $0[key] = nil }
      }
    }
  }

  func stop() async {
    isOver.store(true, ordering: .relaxed)
    let tasks = tasks.withLock { Array($0.values) }
    for task in tasks { task.cancel() }
    for task in tasks { await task.value }
  }
}
