// SPDX-License-Identifier: MIT
import RefrainLocks

/// Ends requests that have been silent for too long. One task checks all watches, while there are
/// any.
final class SilenceTimeout: Sendable {
  /// One watched request: it extends its deadline while it makes progress, or rests.
  final class Watch: Sendable {
    private struct State {
      var deadline: ContinuousClock.Instant?
      var hasFired = false
    }
    private let state = Mutex(State())
    private let onSilence: @Sendable () -> Void

    fileprivate init(onSilence: @Sendable @escaping () -> Void) { self.onSilence = onSilence }

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

    fileprivate func check(_ now: ContinuousClock.Instant) {
      let fires = state.withLock { state in
        guard let deadline = state.deadline, deadline < now, !state.hasFired else { return false }
        state.hasFired = true
        return true
      }
      if fires { onSilence() }
    }
  }

  private struct State {
    var watches: [ObjectIdentifier: Watch] = [:]
    var isRunning = false
  }
  private let state = Mutex(State())

  /// Begins to watch; nothing is expected yet. Balanced by `forget`.
  func watch(onSilence: @Sendable @escaping () -> Void) -> Watch {
    let watch = Watch(onSilence: onSilence)
    let starts = state.withLock { state in
      state.watches[ObjectIdentifier(watch)] = watch
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if starts {
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
    return watch
  }

  func forget(_ watch: Watch) {
    state.withLock { _ = $0.watches.removeValue(forKey: ObjectIdentifier(watch)) }
  }
}
