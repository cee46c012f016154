// SPDX-License-Identifier: MIT
import Foundation

/// Items in flight in one direction of one connection, each with the time at which it is due.
///
/// `@unchecked Sendable`: `change` guards all state.
final class LineQueue: @unchecked Sendable {
  enum Item {
    case bytes([UInt8])
    /// The sender sends nothing more.
    case end
    /// The sender's connection broke.
    case reset
  }

  /// The maximum number of bytes in flight.
  private let room: Int
  private let change = NSCondition()
  private var items: [(due: Double, item: Item)] = []
  private var first = 0
  private var count = 0
  private var isBroken = false

  init(room: Int) { self.room = room }

  /// Blocks while too many bytes are in flight.
  ///
  /// - Returns: false once the connection is broken.
  func waitForRoom(_ bytes: Int) -> Bool {
    change.withLock {
      while !isBroken, count + bytes > room { change.wait() }
      return !isBroken
    }
  }

  func append(_ item: Item, due: Double) {
    change.withLock {
      if case .bytes(let bytes) = item { count += bytes.count }
      items.append((due, item))
      change.broadcast()
    }
  }

  /// Returns the next item, or nil once the connection is broken. Blocks until then.
  func next() -> (due: Double, item: Item)? {
    change.withLock {
      while !isBroken, first == items.count { change.wait() }
      guard !isBroken else { return nil }
      defer {
        first += 1
        if first == 256 {
          items.removeFirst(first)
          first = 0
        }
      }
      return items[first]
    }
  }

  /// Records that `bytes` have arrived and are no longer in flight.
  func arrived(_ bytes: Int) {
    change.withLock {
      count -= bytes
      change.broadcast()
    }
  }

  /// Ends all waiting.
  func interrupt() {
    change.withLock {
      isBroken = true
      change.broadcast()
    }
  }
}
