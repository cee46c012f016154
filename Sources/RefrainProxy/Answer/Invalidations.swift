// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Synchronization

/// When requests were made that may have changed a resource (RFC 9111 §4.4), for what is kept of it
/// for those with credentials: under which keys, only they know.
final class Invalidations: Sendable {
  private static let capacity = 4096

  private struct State {
    var times: [CacheKey: Date] = [:]
    /// Nothing is known of what came before.
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

  /// What was stored until then has to be confirmed.
  func last(of key: CacheKey) -> Date {
    state.withLock { $0.times[key] ?? $0.since }
  }
}
