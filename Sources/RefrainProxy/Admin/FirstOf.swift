// SPDX-License-Identifier: MIT

/// Returns the result of `task`, or nil once `limit` has passed. The task continues, and with it a
/// small one that waits for it.
func value<Value: Sendable>(
  of task: Task<Value, Never>, within limit: Duration
) async -> Value? {
  let (results, result) = AsyncStream<Value?>.makeStream()
  let waiting = Task { result.yield(await task.value) }
  let timer = Task {
    // Cancelled as soon as the result is there.
    try? await Task.sleep(for: limit)
    result.yield(nil)
  }
  defer {
    waiting.cancel()
    timer.cancel()
  }
  for await first in results { return first }
  return nil
}
