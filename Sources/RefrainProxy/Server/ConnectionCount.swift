// SPDX-License-Identifier: MIT
import RefrainLocks

/// The number of connections, and its limit.
final class ConnectionCount: Sendable {
  enum Rank: Sendable {
    case regular
    /// Beyond the limit: refused, and closed.
    case surplus
  }

  private let count = Atomic(0)
  private let exhausted = Atomic(false)
  private let waiting = Mutex<Waiting?>(nil)
  /// The configured limit; 0 for none.
  private let most: Atomic<Int>
  /// Called each time, because the limit of descriptors can be changed from outside (prlimit(1)).
  private let bounded: @Sendable (Int?) -> Int
  /// The connections accepted beyond the limit, to be refused. The rest wait to be accepted: each
  /// accepted one has a descriptor.
  private static let mostSurplus = 8

  /// A closure stored directly in a lock gains a layer each time it is taken out.
  private struct Waiting: Sendable {
    var action: @Sendable () -> Void
  }

  /// - Parameters:
  ///   - most: the configured limit; nil for none.
  ///   - bounded: returns the limit that applies, given the configured one.
  init(most: Int? = nil, bounded: @Sendable @escaping (Int?) -> Int) {
    self.most = Atomic(most ?? 0)
    self.bounded = bounded
  }

  private var limit: Int {
    let most = most.load(ordering: .relaxed)
    return bounded(most == 0 ? nil : most)
  }

  /// Changes the configured limit. Open connections stay, and count.
  func update(most: Int?) {
    self.most.store(most ?? 0, ordering: .relaxed)
    wake()
  }

  var current: Int { count.load(ordering: .relaxed) }

  /// Whether no descriptor is left.
  var isExhausted: Bool {
    get { exhausted.load(ordering: .relaxed) }
    set { exhausted.store(newValue, ordering: .relaxed) }
  }

  /// Counts a connection. Balanced by `leave`.
  func enter() -> Rank {
    let isSurplus = count.add(1, ordering: .relaxed).newValue > limit
    return isSurplus || isExhausted ? .surplus : .regular
  }

  func leave() {
    count.subtract(1, ordering: .relaxed)
    wake()
  }

  /// Whether one more connection may be accepted, even if only to be refused.
  var mayAccept: Bool { current < limit + Self.mostSurplus }

  /// Calls `action` once when one more may be accepted; on any thread, and at once if that is now.
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
