// SPDX-License-Identifier: MIT
import RefrainLocks

/// Ends requests that are silent for too long. One task checks all watches, while there are any.
final class SilenceTimeout: Sendable {
  /// One watched request: it extends its deadline while it makes progress, or rests.
  final class Watch: Sendable {
    /// In milliseconds of `Uptime`.
    private let deadline = Atomic(Int64.max)
    private let isSilent = Atomic(false)
    private let isOver = Atomic(false)

    /// Expects progress within this time.
    func expect(within limit: Duration) {
      // No number overflows, whatever the user set.
      let end = Uptime.now.seconds + max(0, min(limit.seconds, 4e9))
      deadline.store(Int64(end * 1000), ordering: .relaxed)
    }

    /// Expects nothing.
    func rest() { deadline.store(.max, ordering: .relaxed) }

    /// Has the request cancelled at the next check, also before it begins.
    func cancel() { isOver.store(true, ordering: .releasing) }

    /// Whether the timeout has ended the request.
    var hasFired: Bool { isSilent.load(ordering: .acquiring) }

    /// Whether `cancel` was called.
    var isCancelled: Bool { isOver.load(ordering: .acquiring) }

    /// Whether the request is to be cancelled by now.
    fileprivate func isDue(at now: Uptime) -> Bool {
      if isCancelled || hasFired { return true }
      guard deadline.load(ordering: .relaxed) < Int64(now.seconds * 1000) else { return false }
      isSilent.store(true, ordering: .releasing)
      return true
    }
  }

  private struct State {
    var watches: [ObjectIdentifier: (Watch, cancel: @Sendable () -> Void)] = [:]
    var isRunning = false
  }
  private let state = Mutex(State())

  /// Runs a request on `IOThreads`. The timeout, `Watch.cancel` and the cancellation of the caller's
  /// task cancel it.
  ///
  /// - Parameter watch: used for one request alone.
  func run<Value: Sendable, Failure: Error>(
    _ watch: Watch, _ request: @Sendable @escaping () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let task = Task(executorPreference: IOThreads.shared) { () -> Result<Value, Failure> in
      do throws(Failure) { return .success(try await request()) } catch { return .failure(error) }
    }
    let starts = state.withLock { state in
      state.watches[ObjectIdentifier(watch)] = (watch, { task.cancel() })
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if starts { Task { await check() } }
    defer { state.withLock { _ = $0.watches.removeValue(forKey: ObjectIdentifier(watch)) } }
    let outcome = await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
    return try outcome.get()
  }

  private func check() async {
    while true {
      // Nobody cancels the task, so that this cannot throw.
      try? await Task.sleep(for: .milliseconds(100))
      let watches = state.withLock { state in
        state.isRunning = !state.watches.isEmpty
        return Array(state.watches.values)
      }
      if watches.isEmpty { return }
      let now = Uptime.now
      for (watch, cancel) in watches where watch.isDue(at: now) { cancel() }
    }
  }
}
