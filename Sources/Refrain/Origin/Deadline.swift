// SPDX-License-Identifier: MIT
import RefrainLocks

/// Ends one request that is silent for too long. The request puts the deadline off while it makes
/// progress, and has none while it rests.
final class Deadline: Sendable {
  enum End { case passed, cancelled }

  /// In milliseconds of `Uptime`. No lock, since each chunk of a body sets it.
  private let time = Atomic(Int64.max)
  private let state = Mutex<(end: End?, cancel: (@Sendable () -> Void)?)>((nil, nil))

  func expect(within limit: Duration) {
    // No number overflows, whatever the user set.
    let end = Uptime.now.seconds + max(0, min(limit.seconds, 4e9))
    time.store(Int64(end * 1000), ordering: .relaxed)
  }

  func rest() { time.store(.max, ordering: .relaxed) }

  /// Cancels the request, also before it begins.
  func cancel() { end(.cancelled) }

  /// What ended the request; nil if neither did.
  var end: End? { state.withLock { $0.end } }

  private func end(_ end: End) {
    let cancel = state.withLock { state in
      state.end = state.end ?? end
      return state.cancel
    }
    cancel?()
  }

  /// Runs a request on `IOThreads`; one alone. The deadline, `cancel` and the cancellation of the
  /// caller's task cancel it.
  func run<Value: Sendable>(
    _ request: @Sendable @escaping () async throws -> Value
  ) async throws -> Value {
    let task = Task(executorPreference: IOThreads.shared) { try await request() }
    let isOver = state.withLock { state in
      state.cancel = { task.cancel() }
      return state.end != nil
    }
    if isOver { task.cancel() }
    let watch = Task { await self.watch() }
    defer {
      watch.cancel()
      state.withLock { $0.cancel = nil }
    }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }

  private func watch() async {
    while !Task.isCancelled {
      let time = time.load(ordering: .relaxed)
      let left = time == .max ? .max : time - Int64(Uptime.now.seconds * 1000)
      if left < 0 { return end(.passed) }
      // A deadline that a request sets after a rest is noticed within this time.
      try? await Task.sleep(for: .milliseconds(min(left, 499) + 1))
    }
  }
}
