// SPDX-License-Identifier: MIT
import NIOCore
import RefrainLocks

/// The number of connections, and its limit.
final class ConnectionCount: Sendable {
  private let count = Atomic(0)
  /// The connections beyond the limit, until they are closed.
  private let surplus = Mutex<Set<ObjectIdentifier>>([])
  private let exhausted = Atomic(false)
  private let waiting = Mutex<Waiting?>(nil)
  /// Called each time, because the limit of descriptors can be changed from outside (prlimit(1)).
  private let limit: @Sendable () -> Int
  /// The connections accepted beyond the limit, to be refused, and up to three more: SwiftNIO
  /// accepts four at a time. The rest wait to be accepted: each accepted one has a descriptor.
  static let mostSurplus = 8

  /// A closure stored directly in a lock gains a layer each time it is taken out.
  private struct Waiting: Sendable {
    var action: @Sendable () -> Void
  }

  init(limit: @Sendable @escaping () -> Int) { self.limit = limit }

  var current: Int { count.load(ordering: .relaxed) }

  /// Whether no descriptor is left.
  var isExhausted: Bool {
    get { exhausted.load(ordering: .relaxed) }
    set { exhausted.store(newValue, ordering: .relaxed) }
  }

  /// Counts a connection until it is closed.
  ///
  /// Called on the event loop that accepts, as soon as the connection has its descriptor. Its own
  /// event loop may be busy for long, while this one accepts further connections.
  func enter(_ channel: any Channel) {
    let id = ObjectIdentifier(channel)
    if count.add(1, ordering: .relaxed).newValue > limit() || isExhausted {
      surplus.withLock { _ = $0.insert(id) }
    }
    channel.closeFuture.whenComplete { [self] _ in
      surplus.withLock { _ = $0.remove(id) }
      count.subtract(1, ordering: .relaxed)
      wake()
    }
  }

  /// Whether a counted connection was beyond the limit when it was accepted: it is refused, and
  /// closed.
  func isSurplus(_ channel: any Channel) -> Bool {
    let id = ObjectIdentifier(channel)
    return surplus.withLock { $0.contains(id) }
  }

  /// Whether one more connection may be accepted, even if only to be refused.
  var mayAccept: Bool { current < limit() + Self.mostSurplus }

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
