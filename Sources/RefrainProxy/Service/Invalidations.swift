// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// The times of requests that may have changed a resource (RFC 9111 §4.4), for responses stored
/// under keys with credentials: such a request does not know those keys.
final class Invalidations: Sendable {
  private static let capacity = 4096

  private struct State {
    var times: [CacheKey: Date] = [:]
    /// Earlier changes are unknown.
    var since: Date
  }

  private let state: Mutex<State>

  init(since: Date) { state = Mutex(State(since: since)) }

  func insert(_ key: CacheKey, at now: Date) {
    state.withLock { state in
      if state.times.count >= Self.capacity { state = State(since: now) }
      state.times[key] = now
    }
  }

  /// Returns the time of the last change: responses stored until then must be confirmed.
  func last(of key: CacheKey) -> Date {
    state.withLock { $0.times[key] ?? $0.since }
  }
}
