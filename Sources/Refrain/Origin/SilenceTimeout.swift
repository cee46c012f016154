// SPDX-License-Identifier: MIT
import RefrainLocks

/// Ends requests that have been silent for too long. One task checks all watches, while there are
/// any.
final class SilenceTimeout: Sendable {
  /// One watched request: it extends its deadline while it makes progress, or rests.
  final class Watch: Sendable {
    fileprivate struct State {
      var deadline: ContinuousClock.Instant?
      var hasFired = false
      var isOver = false
      var cancel: (@Sendable () -> Void)?
    }
    fileprivate let state = Mutex(State())

    /// Whether the timeout ended the request.
    var hasFired: Bool { state.withLock { $0.hasFired } }

    /// Expects progress within this time.
    func expect(within limit: Duration) {
      let deadline = ContinuousClock.now + limit
      state.withLock { $0.deadline = deadline }
    }

    /// Expects nothing.
    func rest() {
      state.withLock { $0.deadline = nil }
    }

    /// Cancels the request, also before it begins.
    func end() {
      state.withLock { state in
        state.isOver = true
        return state.cancel
      }?()
    }

    fileprivate func check(_ now: ContinuousClock.Instant) {
      let fires = state.withLock { state in
        guard let deadline = state.deadline, deadline < now, !state.hasFired else { return false }
        state.hasFired = true
        return true
      }
      if fires { end() }
    }

  }

  private struct State {
    var watches: [ObjectIdentifier: Watch] = [:]
    var isRunning = false
  }
  private let state = Mutex(State())

  /// Runs a request on `IOThreads`. The timeout, `Watch.end` and the cancellation of the caller's task
  /// cancel it.
  ///
  /// - Parameter watch: used for one request alone.
  func run<Outcome: Sendable, Failure: Error>(
    _ watch: Watch, _ request: @Sendable @escaping () async throws(Failure) -> Outcome
  ) async throws(Failure) -> Outcome {
    add(watch)
    defer { state.withLock { _ = $0.watches.removeValue(forKey: ObjectIdentifier(watch)) } }
    let task = Task(executorPreference: IOThreads.shared) { () -> Result<Outcome, Failure> in
      do throws(Failure) { return .success(try await request()) } catch { return .failure(error) }
    }
    let isOver = watch.state.withLock { state in
      state.cancel = { task.cancel() }
      return state.isOver
    }
    if isOver { task.cancel() }
    defer { watch.state.withLock { $0.cancel = nil } }
    let outcome = await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
    return try outcome.get()
  }

  private func add(_ watch: Watch) {
    let starts = state.withLock { state in
      state.watches[ObjectIdentifier(watch)] = watch
      defer { state.isRunning = true }
      return !state.isRunning
    }
    guard starts else { return }
    Task { [self] in
      while true {
        // Nobody cancels the task, so that this cannot throw.
        try? await Task.sleep(for: .milliseconds(100))
        let watches = state.withLock { state -> [Watch] in
          state.isRunning = !state.watches.isEmpty
          return Array(state.watches.values)
        }
        if watches.isEmpty { return }
        let now = ContinuousClock.now
        for watch in watches { watch.check(now) }
      }
    }
  }
}
