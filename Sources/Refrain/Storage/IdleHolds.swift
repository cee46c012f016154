// SPDX-License-Identifier: MIT
import Synchronization

/// Those who hold entries open that nobody reads, for the sake of speed alone: where room is needed,
/// they are asked to let go.
final class IdleHolds: Sendable {
  private struct State {
    var releases: [UInt64: @Sendable () -> Void] = [:]
    var nextID: UInt64 = 0
  }

  private let state = Mutex(State())

  var isEmpty: Bool { state.withLock { $0.releases.isEmpty } }

  func add(_ release: @escaping @Sendable () -> Void) -> UInt64 {
    state.withLock { state in
      state.nextID += 1
      state.releases[state.nextID] = release
      return state.nextID
    }
  }

  func remove(_ id: UInt64) {
    state.withLock { $0.releases[id] = nil }
  }

  func releaseAll() {
    for release in state.withLock({ Array($0.releases.values) }) { release() }
  }
}
