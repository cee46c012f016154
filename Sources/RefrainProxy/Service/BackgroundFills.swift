// SPDX-License-Identifier: MIT
import Refrain
import RefrainLocks

/// Fetches the rest of resources that clients have begun, even after they leave; and confirms stale
/// ones that clients have received without waiting.
final class BackgroundFills: Sendable {
  private enum Work: Hashable {
    case fill(CacheKey)
    case confirmation(CacheKey)
  }

  private struct State {
    var running: [Work: Task<Void, Never>] = [:]
    var isOver = false
  }

  /// Most of them wait for a place to open their entry; a further one is begun by its next client.
  private static let mostRunning = 10_000

  private let cache: MediaCache
  private let state = Mutex(State())

  init(cache: MediaCache) { self.cache = cache }

  func begin(_ resource: Resource) {
    begin(.fill(cache.key(for: resource))) { cache in _ = try await cache.prefetch(resource) }
  }

  /// Confirms a stored resource on these terms; of a new version, fetches `part`.
  func confirm(_ resource: Resource, on terms: ReadTerms, _ part: ByteRange) {
    begin(.confirmation(cache.key(for: resource))) { cache in
      let reader = try await cache.open(
        resource, on: terms, fill: .onDemand, key: resource.key, isBackground: true)
      defer { reader.cancel() }
      reader.setEnd(part.upperBound, readsOn: true)
      for try await _ in reader.chunks(in: part) {}
    }
  }

  private func begin(_ work: Work, _ body: @Sendable @escaping (MediaCache) async throws -> Void) {
    state.withLock { state in
      guard state.running[work] == nil, state.running.count < Self.mostRunning, !state.isOver
      else { return }
      let cache = cache
      state.running[work] = Task {
        // Errors are reported by the cache's events; the next client begins it again.
        try? await body(cache)
        self.state.withLock { $0.running[work] = nil }
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
