// SPDX-License-Identifier: MIT

/// Starts the fetches of a cache's entries, with what they share: the origin, the plan of requests,
/// and the order in which they take their turns.
final class FetchStarter: Sendable {
  let origin: Origin
  let gate = PlaybackPriority()
  /// How long a fetch without readers may stall.
  let abandonedSilence: Duration
  private let plan: FetchPlan
  /// Whether stored bytes are never revalidated.
  private let trustsStored: Bool
  /// Runs a fetch to its end.
  let run: Run

  /// Brings a range of a generation; nothing here knows how.
  typealias Run = @Sendable (Generation, FetchID, ByteRange) async -> Void

  init(
    origin: Origin, plan: FetchPlan, trustsStored: Bool, abandonedSilence: Duration,
    run: @escaping Run
  ) {
    (self.origin, self.plan, self.trustsStored) = (origin, plan, trustsStored)
    self.abandonedSilence = abandonedSilence
    self.run = run
  }

  /// Returns the state of an empty generation of a resource.
  func emptyState(of resource: Resource) -> GenerationState {
    GenerationState(
      limits: plan, isOffline: origin.isOffline, trustsStored: trustsStored,
      representation: Representation(
        documents: resource.policy.documents, requestedAt: resource.url))
  }
}
