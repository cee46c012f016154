// SPDX-License-Identifier: MIT
import Synchronization

/// Playback goes before prefetch: while a fetch that a player is short of is running anywhere in the
/// cache, fetches in the background pause between two chunks.
final class PlaybackPriority: Sendable {
  private struct State {
    var foreground = 0
    var paused: [UInt64: CheckedContinuation<Void, Never>] = [:]
  }

  private let state = Mutex(State())

  /// How many fetches pause.
  var waitingCount: Int { state.withLock { $0.paused.count } }

  /// How many fetches a player is short of.
  var foregroundCount: Int { state.withLock { $0.foreground } }

  /// So many more fetches, or fewer, are those that a player is short of.
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
  /// - Parameter isExempt: whether the fetch needs not wait by now. Asked where `letThrough` cannot
  ///   come in between; so what makes it exempt happens before `letThrough` is called.
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

  /// Ends the pause of a fetch that a player has come to wait for.
  func letThrough(_ fetch: UInt64) {
    state.withLock { $0.paused.removeValue(forKey: fetch) }?.resume()
  }
}
