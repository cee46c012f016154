// SPDX-License-Identifier: MIT
import RefrainLocks

/// Idle entries, which are soon closed when room is needed: those that holders keep open only for
/// speed, and those that are being recorded and closed.
final class ReclaimableLeases: Sendable {
  private struct State {
    var releases: [UInt64: @Sendable () -> Bool] = [:]
    var nextID: UInt64 = 0
    var closing = 0
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

  /// Notes that an entry without readers is about to be recorded, or closed. Balanced by
  /// `closingEnded`.
  func closingBegan() { state.withLock { $0.closing += 1 } }

  func closingEnded() { state.withLock { $0.closing -= 1 } }

  /// Asks all holders to release their entries.
  ///
  /// - Returns: whether entries are about to be closed: anything was held, or they were closing.
  func releaseAll() -> Bool {
    let (releases, isClosing) = state.withLock { (Array($0.releases.values), $0.closing > 0) }
    return releases.reduce(isClosing) { $1() || $0 }
  }
}
