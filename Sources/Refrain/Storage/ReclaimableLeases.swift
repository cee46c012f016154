// SPDX-License-Identifier: MIT
import Synchronization

/// Those who hold entries open that nobody reads, for the sake of speed alone: where room is needed,
/// they are asked to let go.
final class ReclaimableLeases: Sendable {
  private struct State {
    var releases: [UInt64: @Sendable () -> Bool] = [:]
    var nextID: UInt64 = 0
  }

  private let state = Mutex(State())

  func add(_ release: @escaping @Sendable () -> Bool) -> UInt64 {
    state.withLock { state in
      state.nextID += 1
      state.releases[state.nextID] = release
      return state.nextID
    }
  }

  func remove(_ id: UInt64) {
    state.withLock { $0.releases[id] = nil }
  }

  /// - Returns: whether anything was held.
  func releaseAll() -> Bool {
    let releases = state.withLock { Array($0.releases.values) }
    return releases.reduce(false) { $1() || $0 }
  }
}
