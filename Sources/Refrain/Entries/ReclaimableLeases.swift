// SPDX-License-Identifier: MIT
import RefrainLocks

/// Holders of idle entries that are kept open only for speed: they are asked to release them when
/// room is needed.
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

  /// Asks all holders to release their entries.
  ///
  /// - Returns: whether anything was held.
  func releaseAll() -> Bool {
    let releases = state.withLock { Array($0.releases.values) }
    return releases.reduce(false) { $1() || $0 }
  }
}
