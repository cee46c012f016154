// SPDX-License-Identifier: MIT
import RefrainLocks

/// Starts the fetches of a cache's entries, with what they share.
struct FetchStarter: Sendable {
  let origin: Origin
  let gate = PlaybackPriority()
  let plan: FetchPlan
  let trustsStored: Bool
  /// How long a fetch without readers may stall.
  let abandonedSilence: Duration
  /// Brings a range of a generation; nothing here knows how.
  let run: @Sendable (Generation, FetchID, ByteRange) async -> Void

  func emptyState(of resource: Resource) -> GenerationState {
    GenerationState(
      limits: plan, isOffline: origin.isOffline, trustsStored: trustsStored,
      representation: Representation(
        documents: resource.policy.documents, requestedAt: resource.url))
  }
}

/// Gives playback priority over prefetching: while a player anywhere in the cache waits for a
/// fetch, background fetches pause between two chunks.
final class PlaybackPriority: Sendable {
  private struct State {
    var foreground = 0
    var paused: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  var waitingCount: Int { state.withLock { $0.paused.count } }

  var foregroundCount: Int { state.withLock { $0.foreground } }

  func count(_ change: Int) {
    let isFree = state.withLock { state in
      state.foreground += change
      return state.foreground <= 0
    }
    if isFree { lookAgain() }
  }

  /// Returns when nobody plays, when the task is cancelled, or when a player now waits for the
  /// fetch itself (`isExempt`): `lookAgain` is to be called after that change.
  func waitTurn(unless isExempt: () -> Bool = { false }) async {
    var goesOn = state.withLock { $0.foreground <= 0 }
    while !goesOn {
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          goesOn = state.withLock { state in
            if state.foreground <= 0 || Task.isCancelled || isExempt() { return true }
            state.paused.append(continuation)
            return false
          }
          if goesOn { continuation.resume() }
        }
      } onCancel: {
        lookAgain()
      }
    }
  }

  func lookAgain() {
    let paused = state.withLock { state in
      defer { state.paused = [] }
      return state.paused
    }
    for continuation in paused { continuation.resume() }
  }
}
