// SPDX-License-Identifier: MIT
import RefrainLocks

/// The state that all entries of a cache share.
final class CacheContext: Sendable {
  let configuration: MediaCache.Configuration
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
  let counters: CacheCounters
  let originPace: OriginPace
  let renewals: GroupRenewals
  let companions = Companions()
  let movedResources = MovedResources()
  let redirectedResponses = RedirectedResponses()
  let representationKeys = RepresentationKeys()
  /// Runs a fetch to its end; nothing here knows how.
  let fetch: FetchWork
  private let hasReportedLocks = Mutex(false)
  private let settings: Mutex<Settings>

  private struct Settings {
    var isOffline: Bool
    var network: NetworkPolicy
  }

  /// Brings a range of a generation. The last argument says whether the response confirms the
  /// generation first.
  typealias FetchWork = @Sendable (Generation, FetchID, ByteRange, Bool) async -> Void

  init(
    configuration: MediaCache.Configuration, budget: DiskBudget, transport: any Transport,
    slots: EntrySlots = .ofProcess, fetch: @escaping FetchWork
  ) {
    self.fetch = fetch
    self.slots = slots
    let events = EventStreams()
    self.configuration = configuration
    renewals = GroupRenewals(isSharing: !configuration.isShared)
    settings = Mutex(
      Settings(isOffline: configuration.offline, network: configuration.network))
    originPace = OriginPace(bytesPerSecond: configuration.originRate)
    self.budget = budget
    self.transport = transport
    self.events = events
    rests = OriginRests(longest: configuration.retry.longestDelay)
    let counters = CacheCounters()
    self.counters = counters
    evictor = Evictor(budget: budget, reclaimableLeases: reclaimableLeases) { event in
      if case .evicted(_, let bytes) = event { counters.noteEvicted(bytes) }
      events.send(event)
    }
  }

  var now: Moment { configuration.clock() }

  // MARK: Settings that can change

  /// Whether no request is made at all.
  var isOffline: Bool { settings.withLock(\.isOffline) }

  func setOffline(_ isOffline: Bool) {
    settings.withLock { $0.isOffline = isOffline }
  }

  var network: NetworkPolicy { settings.withLock(\.network) }

  func setNetwork(_ network: NetworkPolicy) { settings.withLock { $0.network = network } }

  /// Whether the origin may be asked, and needs to be asked at all.
  var asking: GenerationState.Asking {
    GenerationState.Asking(isOffline: isOffline, trustsStored: configuration.trustStored)
  }

  /// Reports, once, that files cannot be locked (`WriterLock.failure`).
  func reportNoLocks(_ failure: DiskError) {
    let isFirst = hasReportedLocks.withLock { reported in
      defer { reported = true }
      return !reported
    }
    guard isFirst else { return }
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
    let plan = FetchPlan(
      patience: configuration.joinPatience?.seconds,
      firstRequest: max(configuration.firstRequest, 1),
      maximumReadAhead: max(configuration.maximumReadAhead, configuration.firstRequest))
    return GenerationState(
      limits: plan, isOffline: isOffline,
      representation: Representation(
        documents: resource.policy.documents, requestedAt: resource.url))
  }
}
