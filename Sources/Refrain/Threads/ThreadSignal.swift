// SPDX-License-Identifier: MIT
import Foundation

/// One result that one thread waits for: the thread of libmpv's read callback, for example, which
/// may block.
///
/// Unchecked: `NSCondition` guards `result`, which the compiler cannot see; `Mutex` has no
/// condition to wait on.
final class ThreadSignal: @unchecked Sendable {
  private let condition = NSCondition()
  private var result: Result<Void, any Error>?

  func deliver(_ result: Result<Void, any Error>) {
    condition.lock()
    self.result = result
    condition.signal()
    condition.unlock()
  }

  /// Waits until the result is there. Blocks.
  func wait() throws {
    condition.lock()
    defer { condition.unlock() }
    while result == nil { condition.wait() }
    try result?.get()
  }
}
