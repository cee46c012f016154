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
  private let waiting = Mutex<Waiting?>(nil)
  let limit: Int
  /// So many more are taken, to be told that they are too many. The rest wait to be taken: each that
  /// is has a descriptor.
  private static let mostSurplus = 8

  /// A closure that is a lock's value by itself gets a layer each time it is taken out.
  private struct Waiting: Sendable {
    var action: @Sendable () -> Void
  }

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

  func leave() {
    count.subtract(1, ordering: .relaxed)
    wake()
  }

  /// Whether one more may be taken, be it to be told that it is too many.
  var mayAccept: Bool { current < limit + Self.mostSurplus }

  /// Calls `action` once when one more may be taken; on any thread, and at once where that is now.
  func whenThereIsRoom(_ action: @Sendable @escaping () -> Void) {
    waiting.withLock { $0 = Waiting(action: action) }
    wake()
  }

  func forgetWaiting() { waiting.withLock { $0 = nil } }

  private func wake() {
    guard mayAccept else { return }
    waiting.withLock { $0.take() }?.action()
  }
}
