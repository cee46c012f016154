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

  private let cache: MediaCache
  private let mostRunning: Int
  private let state = Mutex(State())

  /// - Parameter mostRunning: the most fetches, of which most wait for a place to open their entry;
  ///   a further one is begun again by its next client.
  init(cache: MediaCache, mostRunning: Int = 10_000) {
    self.cache = cache
    self.mostRunning = mostRunning
  }

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
      var offset = part.lowerBound
      repeat {
        switch try await reader.available(at: offset, count: Int(part.upperBound - offset)) {
        case .file(_, let end): offset = end
        case .memory(let bytes): offset += Int64(bytes.count)
        case .end: return
        }
      } while offset < part.upperBound
    }
  }

  private func begin(_ work: Work, _ body: @Sendable @escaping (MediaCache) async throws -> Void) {
    state.withLock { state in
      guard state.running[work] == nil, state.running.count < mostRunning, !state.isOver else {
        return
      }
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
