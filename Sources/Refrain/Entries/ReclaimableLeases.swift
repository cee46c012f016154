// SPDX-License-Identifier: MIT
import RefrainLocks

/// Idle entries, which are soon closed when room is needed: those that holders keep open only for
/// speed, and those that are being recorded and closed.
final class ReclaimableLeases: Sendable {
  private struct State {
    var releases: [UInt64: @Sendable () -> Bool] = [:]
    var nextID: UInt64 = 0
    var closing: Set<UInt64> = []
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

  /// A number that is not less than any that `closingBegan` has returned, and less than all later
  /// ones.
  var latestClosing: UInt64 { state.withLock(\.nextID) }

  /// Whether an entry that was being recorded or closed when `latestClosing` had this value still is.
  func isClosing(since latest: UInt64) -> Bool {
    state.withLock { state in state.closing.contains { $0 <= latest } }
  }

  /// Notes that an entry without readers is about to be recorded, or closed.
  ///
  /// - Returns: a number for `closingEnded`.
  func closingBegan() -> UInt64 {
    state.withLock { state in
      state.nextID += 1
      state.closing.insert(state.nextID)
      return state.nextID
    }
  }

  func closingEnded(_ id: UInt64) {
    state.withLock { _ = $0.closing.remove(id) }
  }

  /// Asks all holders to release their entries.
  ///
  /// - Returns: whether anything was held.
  func releaseAll() -> Bool {
    let releases = state.withLock { Array($0.releases.values) }
    return releases.reduce(false) { $1() || $0 }
  }
}
