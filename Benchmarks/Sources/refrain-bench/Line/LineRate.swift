// SPDX-License-Identifier: MIT
import Foundation

/// The rate of one direction of a line, shared by all its connections: bytes leave one after the
/// other, and waiting connections take turns.
///
/// `@unchecked Sendable`: `turn` guards all state.
final class LineRate: @unchecked Sendable {
  let bytesPerSecond: Double
  /// The router's queue: seconds' worth of bytes that may wait in front of the line, which keep it
  /// busy when a thread is late.
  private let queue: Double

  private let turn = NSCondition()
  private var nextTicket = 0
  private var served = 0
  /// The time at which all accepted bytes have left.
  private var freeAt = 0.0

  init(bytesPerSecond: Double) {
    self.bytesPerSecond = bytesPerSecond
    queue = min(Double(256 << 10), max(Double(64 << 10), bytesPerSecond / 50)) / bytesPerSecond
  }

  /// Accepts bytes once few enough wait in front of the line. Blocks until then.
  ///
  /// - Returns: the time at which the last of them has left.
  func send(_ count: Int) -> Double {
    turn.lock()
    let ticket = nextTicket
    nextTicket += 1
    while ticket != served { turn.wait() }
    let start = freeAt - queue
    turn.unlock()
    // This thread has the turn: no other thread changes `freeAt`.
    Monotonic.sleep(until: start)
    turn.lock()
    defer {
      served += 1
      turn.broadcast()
      turn.unlock()
    }
    freeAt = max(Monotonic.now, freeAt) + Double(count) / bytesPerSecond
    return freeAt
  }
}
