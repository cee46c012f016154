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
  /// Brings a range of a generation.
  let run: @Sendable (Generation, FetchID, ByteRange) async -> Void

  func emptyState(of resource: Resource) -> GenerationState {
    GenerationState(
      limits: plan, isOffline: origin.isOffline, trustsStored: trustsStored,
      representation: Representation(
        documents: resource.policy.documents, requestedAt: resource.url))
  }
}

/// While a player anywhere in the cache is short of bytes, background fetches pause.
final class PlaybackPriority: Sendable {
  /// The number of fetches whose bytes players are short of.
  private let short = Atomic(0)

  var isFree: Bool { short.load(ordering: .relaxed) <= 0 }

  func count(_ change: Int) { short.add(change, ordering: .relaxed) }

  /// Returns soon after no player is short, the task is cancelled, or a player waits for the fetch
  /// itself (`isExempt`).
  func waitTurn(unless isExempt: () -> Bool) async {
    while !isFree, !Task.isCancelled, !isExempt() {
      try? await Task.sleep(for: .milliseconds(50))
    }
  }
}
