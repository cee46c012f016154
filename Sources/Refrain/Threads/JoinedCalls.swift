// SPDX-License-Identifier: MIT
import RefrainLocks

/// Runs one call at a time for each key, for any number of waiting tasks. A cancelled task stops
/// waiting at once; the last one to leave cancels the call.
final class JoinedCalls<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let calls = Mutex<[Key: (task: Task<Value, any Error>, waiters: Int)]>([:])

  func value(
    for key: Key, _ call: @Sendable @escaping () async throws -> Value
  ) async throws -> Value {
    try Task.checkCancellation()
    let task = calls.withLock { calls in
      let (task, waiters) = calls[key] ?? (Task { try await call() }, 0)
      calls[key] = (task, waiters + 1)
      return task
    }
    defer {
      let isLast = calls.withLock { calls in
        // The call may have ended, and another one begun.
        guard let call = calls[key], call.task == task else { return false }
        calls[key] = call.waiters > 1 ? (task, call.waiters - 1) : nil
        return call.waiters == 1
      }
      if isLast { task.cancel() }
    }
    let (result, waiter) = AsyncThrowingStream<Value, any Error>.makeStream()
    Task {
      let outcome = await task.result
      // Whoever has this result, and asks again, makes another call.
      self.calls.withLock { if $0[key]?.task == task { $0[key] = nil } }
      waiter.yield(with: outcome)
      waiter.finish()
    }
    // Ends without a value when this task is cancelled.
    for try await value in result { return value }
    throw CancellationError()
  }
}
