// SPDX-License-Identifier: MIT
import Foundation

/// What is under way in one direction of one connection, with the time at which it is due.
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

  /// Most bytes under way.
  private let room: Int
  private let change = NSCondition()
  private var items: [(due: Double, item: Item)] = []
  private var first = 0
  private var count = 0
  private var isBroken = false

  init(room: Int) { self.room = room }

  /// Blocks while too much is under way.
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

  /// The next item; blocks until there is one. Nil once the connection is broken.
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

  /// That many bytes have arrived, and are no longer under way.
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
