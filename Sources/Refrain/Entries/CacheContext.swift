// SPDX-License-Identifier: MIT
import RefrainLocks

/// The state that all entries of a cache share.
final class CacheContext: Sendable {
  let origin: Origin
  let budget: DiskBudget
  let evictor: Evictor
  let events: EventStreams
  /// Whether the cache serves several people.
  let isShared: Bool
  /// Whether stored bytes are never revalidated.
  private let trustsStored: Bool
  private let plan: FetchPlan
  /// How long a fetch without readers may stall.
  let abandonedSilence: Duration
  private let clock: @Sendable () -> Moment
  let gate = PlaybackPriority()
  let table = EntryTable()
  let reclaimableLeases = ReclaimableLeases()
  let companions = Companions()
  /// Runs a fetch to its end; nothing here knows how.
  let fetch: FetchWork
  private let hasReportedLocks = Atomic(false)

  /// Brings a range of a generation. The last argument says whether the response confirms the
  /// generation first.
  typealias FetchWork = @Sendable (Generation, FetchID, ByteRange, Bool) async -> Void

  init(
    origin: Origin, budget: DiskBudget, plan: FetchPlan, isShared: Bool, trustsStored: Bool,
    abandonedSilence: Duration, clock: @escaping @Sendable () -> Moment, fetch: @escaping FetchWork
  ) {
    (self.origin, self.budget, self.plan) = (origin, budget, plan)
    (self.isShared, self.trustsStored) = (isShared, trustsStored)
    self.abandonedSilence = abandonedSilence
    self.clock = clock
    self.fetch = fetch
    let events = EventStreams()
    self.events = events
    evictor = Evictor(budget: budget, reclaimableLeases: reclaimableLeases) { event in
      if case .evicted(_, let bytes) = event { origin.counters.noteEvicted(bytes) }
      events.send(event)
    }
  }

  var now: Moment { clock() }

  /// Whether the origin may be asked, and needs to be asked at all.
  var asking: GenerationState.Asking {
    GenerationState.Asking(isOffline: origin.isOffline, trustsStored: trustsStored)
  }

  /// Reports, once, that files cannot be locked (`WriterLock.failure`).
  func reportNoLocks(_ failure: DiskError) {
    guard !hasReportedLocks.exchange(true, ordering: .relaxed) else { return }
    let (why, remedy) =
      SystemDisk.isInGroupContainer(budget.directory)
      ? (
        "Files in the app group's container \(budget.directory) are not locked, because the system "
          + "ends an app that is suspended with a lock there.",
        "A directory of the app's own has no such limit."
      )
      : (
        "The file system of \(budget.directory) cannot lock files (\(failure)).",
        "A local directory has no such limit."
      )
    events.send(
      .warning(
        "\(why) Use the directory from one process at a time: several would overwrite each other's "
          + "data. \(remedy)"))
  }

  /// Returns the state of an empty generation of a resource.
  func emptyState(of resource: Resource) -> GenerationState {
    GenerationState(
      limits: plan, isOffline: origin.isOffline,
      representation: Representation(
        documents: resource.policy.documents, requestedAt: resource.url))
  }
}
