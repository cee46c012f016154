// SPDX-License-Identifier: MIT
import RefrainLocks

/// Ends one request that is silent for too long. The request puts it off while it makes progress,
/// and has none while it rests.
final class Deadline: Sendable {
  enum End { case passed, cancelled }

  /// In milliseconds of `Uptime`. No lock, since each chunk of a body sets it.
  private let time = Atomic(Int64.max)
  private let state = Mutex<End?>(nil)

  func expect(within limit: Duration) {
    // No number overflows, whatever the user set.
    let end = Uptime.now.seconds + max(0, min(limit.seconds, 4e9))
    time.store(Int64(end * 1000), ordering: .relaxed)
  }

  func rest() { time.store(.max, ordering: .relaxed) }

  /// Cancels the request within half a second, also before it begins.
  func cancel() { state.withLock { $0 = $0 ?? .cancelled } }

  var end: End? { state.withLock { $0 } }

  /// Runs a request on `IOThreads`; one alone. Returns once it has ended, also if this cancels it.
  func run<Value: Sendable>(
    _ request: @Sendable @escaping () async throws -> Value
  ) async throws -> Value {
    try await withThrowingTaskGroup(of: Value?.self) { group in
      group.addTask(executorPreference: IOThreads.shared) { try await request() }
      group.addTask(executorPreference: IOThreads.shared) {
        await self.watch()
        return nil
      }
      while let ended = try await group.next() {
        group.cancelAll()
        if let value = ended { return value }
      }
      throw CancellationError()
    }
  }

  private func watch() async {
    while !Task.isCancelled, end == nil {
      let time = time.load(ordering: .relaxed)
      let left = time == .max ? .max : time - Int64(Uptime.now.seconds * 1000)
      if left < 0 { return state.withLock { $0 = $0 ?? .passed } }
      // A deadline that a request sets after a rest is noticed within this time.
      try? await Task.sleep(for: .milliseconds(min(left, 499) + 1))
    }
  }
}
