// SPDX-License-Identifier: MIT
import RefrainLocks

/// Gives playback priority over prefetching: while a player anywhere in the cache waits for a
/// fetch, background fetches pause between two chunks.
final class PlaybackPriority: Sendable {
  private struct State {
    var foreground = 0
    var paused: [UInt64: CheckedContinuation<Void, Never>] = [:]
  }

  private let state = Mutex(State())

  /// The number of paused fetches.
  var waitingCount: Int { state.withLock { $0.paused.count } }

  /// The number of fetches that a player waits for.
  var foregroundCount: Int { state.withLock { $0.foreground } }

  /// Changes the number of fetches that a player waits for.
  func count(_ change: Int) {
    let resumed = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      state.foreground += change
      guard state.foreground <= 0 else { return [] }
      defer { state.paused = [:] }
      return Array(state.paused.values)
    }
    for continuation in resumed { continuation.resume() }
  }

  /// Returns when nobody plays, when the fetch is let through, or when the task is cancelled.
  ///
  /// - Parameter isExempt: whether the fetch need not wait any more. Called where `letThrough`
  ///   cannot intervene; the change that exempts it must precede the call to `letThrough`.
  func waitTurn(_ fetch: UInt64, unless isExempt: () -> Bool = { false }) async {
    guard state.withLock({ $0.foreground > 0 }) else { return }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let goesOn = state.withLock { state in
          if state.foreground == 0 || Task.isCancelled || isExempt() { return true }
          state.paused[fetch] = continuation
          return false
        }
        if goesOn { continuation.resume() }
      }
    } onCancel: {
      letThrough(fetch)
    }
  }

  /// Ends the pause of a fetch that a player now waits for.
  func letThrough(_ fetch: UInt64) {
    state.withLock { $0.paused.removeValue(forKey: fetch) }?.resume()
  }
}
