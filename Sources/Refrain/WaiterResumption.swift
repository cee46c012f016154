// SPDX-License-Identifier: MIT
import Foundation

/// Whom to wake: a task, or a thread that blocks.
enum WaiterResumption: Sendable {
  case task(CheckedContinuation<Void, any Error>)
  case thread(ThreadSignal)

  func resume(_ result: Result<Void, any Error>) {
    switch self {
    case .task(let continuation): continuation.resume(with: result)
    case .thread(let signal): signal.deliver(result)
    }
  }
}

/// One result that one thread waits for: libmpv's read callback and the like, which run on threads
/// of their own and may block.
///
/// Unchecked, for `NSCondition` guards `result` and the compiler cannot see it: `Mutex` has no
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

  /// Blocks until the result is there.
  func wait() throws {
    condition.lock()
    defer { condition.unlock() }
    while result == nil { condition.wait() }
    try result?.get()
  }
}
