// SPDX-License-Identifier: MIT
import Synchronization

/// The state that all entries of a cache share.
final class CacheContext: Sendable {
  let configuration: Configuration
  let budget: DiskBudget
  let evictor: Evictor
  let events: EventStreams
  let transport: any Transport
  let gate = PlaybackPriority()
  let silenceTimeout = SilenceTimeout()
  let table = EntryTable()
  let reclaimableLeases = ReclaimableLeases()
  let slots: EntrySlots
  let rests: OriginRests
  /// Runs a fetch to its end; nothing here knows how.
  let fetch: FetchWork
  private let hasReportedLocks = Mutex(false)

  /// Brings a range of a generation. The last argument says whether the response confirms the
  /// generation first.
  typealias FetchWork = @Sendable (Generation, FetchID, ByteRange, Bool) async -> Void

  init(
    configuration: Configuration, budget: DiskBudget, transport: any Transport,
    slots: EntrySlots = .ofProcess, fetch: @escaping FetchWork
  ) {
    self.fetch = fetch
    self.slots = slots
    let events = EventStreams()
    self.configuration = configuration
    self.budget = budget
    self.transport = transport
    self.events = events
    rests = OriginRests(longest: configuration.retry.longestDelay)
    evictor = Evictor(budget: budget, reclaimableLeases: reclaimableLeases) { events.send($0) }
  }

  var now: Moment { configuration.clock() }

  /// Reports, once, that the file system cannot lock (`WriterLock.failure`).
  func reportNoLocks(_ failure: DiskError) {
    let isFirst = hasReportedLocks.withLock { reported in
      defer { reported = true }
      return !reported
    }
    guard isFirst else { return }
    events.send(
      .warning(
        "The file system of \(budget.directory) cannot lock files (\(failure)). Use the directory "
          + "from one process at a time: several would overwrite each other's data. "
          + "A local directory has no such limit."))
  }

  /// Returns the state of an empty generation.
  func emptyState() -> GenerationState {
    let plan = FetchPlan(
      patience: configuration.joinPatience?.seconds,
      firstRequest: max(configuration.firstRequest, 1),
      maximumReadAhead: max(configuration.maximumReadAhead, configuration.firstRequest))
    return GenerationState(limits: plan, isOffline: configuration.offline)
  }
}
