// SPDX-License-Identifier: MIT
import Synchronization

/// How many connections there are, and how many there may be.
final class ConnectionCount: Sendable {
  enum Rank: Sendable {
    case regular
    /// One too many: it is told so, and closed.
    case surplus
  }

  private let count = Atomic(0)
  private let exhausted = Atomic(false)
  let limit: Int

  init(limit: Int) { self.limit = limit }

  var current: Int { count.load(ordering: .relaxed) }

  /// No descriptor is left.
  var isExhausted: Bool {
    get { exhausted.load(ordering: .relaxed) }
    set { exhausted.store(newValue, ordering: .relaxed) }
  }

  /// Balanced by `leave`.
  func enter() -> Rank {
    let isSurplus = count.add(1, ordering: .relaxed).newValue > limit
    return isSurplus || isExhausted ? .surplus : .regular
  }

  func leave() { count.subtract(1, ordering: .relaxed) }
}
