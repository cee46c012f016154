// SPDX-License-Identifier: MIT
import Dispatch

/// A value that is accessed on one queue only.
///
/// Unchecked: the compiler does not know which queue it runs on, but every access checks it.
final class QueueBound<Value>: @unchecked Sendable {
  let queue: DispatchQueue
  private var value: Value

  init(_ value: Value, to queue: DispatchQueue) {
    self.value = value
    self.queue = queue
  }

  /// - Precondition: on the queue.
  func withValue<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    dispatchPrecondition(condition: .onQueue(queue))
    return try body(&value)
  }
}
