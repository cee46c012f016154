// SPDX-License-Identifier: MIT
import Foundation

typealias ReaderID = UInt64
typealias FetchID = UInt64
typealias WaiterID = UInt64

/// Everything known of one generation while it is open: its bytes, its readers' positions, and its
/// fetches. A pure value: its methods change it and return actions to carry out outside the lock.
struct GenerationState: Sendable {
  /// An action to carry out after the lock is released.
  enum Action: Sendable {
    case startFetch(FetchID, ByteRange)
    case startConfirmation(FetchID, ByteRange)
    case cancel(Task<Void, Never>)
    case wake([WaiterResumption], (any Error)?)
    /// Resume a paused fetch.
    case resume(CheckedContinuation<Void, Never>)
    /// A player waits for bytes of a background fetch.
    case promote(FetchID)
    /// Watch fetches without readers, which continue while they progress.
    case watchAbandoned
    /// Change the number of fetches that a player is short of.
    case countShort(Int)
  }

  struct Reader: Sendable {
    enum Activity {
      /// It has asked for nothing yet, or rests.
      case idle
      /// It has asked for the properties of the resource, and for no bytes.
      case asking
      /// It was told to wait for its bytes, and is about to.
      case aboutToWait
      /// It is expected to read on from its position.
      case reading
    }

    var position: Int64 = 0
    var runLength: Int64 = 0
    var end: Int64 = .max
    /// Whether it has declared that it reads everything up to `end`.
    var readsOn = false
    var isBackground = false
    /// Whether all of the resource is fetched while it is open (`FillPolicy.wholeResource`).
    var fillsWhole = false
    /// The smallest request made for it.
    var minimum: Int64 = 1
    var activity = Activity.idle
    /// Whether it has received bytes of this generation, so that it cannot move to another.
    var hasRead = false
    /// Whether it found bytes at its position.
    var wasServed = false
    /// Whether it waits for bytes until the origin has confirmed this generation.
    var awaitsConfirmation = false
    /// The cut that it has come upon without waiting there yet.
    var missedCut: MissedCut?
    var terms = ReadTerms()
    /// What it was opened for; nil: it makes no request of its own.
    var resource: Resource?

    /// Whether it has asked for something.
    var isActive: Bool { activity != .idle }
    /// Whether it has asked for bytes.
    var isReading: Bool { activity == .reading || activity == .aboutToWait }
  }

  struct Waiter: Sendable {
    var reader: ReaderID
    /// The offset waited for; nil for the content information.
    var offset: Int64?
    var wake: WaiterResumption
  }

  /// The work that follows storing some bytes.
  struct Commit: Sendable {
    var actions: [Action]
    /// The journal record to write.
    var journal: (file: JournalFile, number: Int, span: ByteRange)?
    /// The delay after which a sync is due; nil for none.
    var syncDelay: Duration?
    /// Whether a record is due some time from now (`RecordState.deferred`).
    var defersRecord = false
    /// Whether the record is written before further bytes (`StoredBytes.wantsRecord`).
    var wantsRecord = false
  }

  enum Lookup: Sendable {
    /// Stored from the offset up to `upTo`.
    case stored(upTo: Int64, EntryFile)
    /// In memory, from the offset on.
    case transient(Data)
    case end
    case wait
    /// Another generation has taken over, and this reader has read nothing of this one.
    case moved
    case failed(MediaCacheError)
  }

  var limits: FetchPlan
  var isOffline: Bool

  var representation: Representation
  var storage = StoredBytes()
  var transient = TransientBytes()
  /// Whether the previous generation was known to be no web page (`MediaType.isKnownNoPage`).
  var followsNoPage = false
  /// When the origin last responded for this generation, or could not be asked.
  var vouchedAt: Uptime? { didSet { couldNotBeAsked = false } }
  /// Whether the origin could not be asked then.
  var couldNotBeAsked = false
  var ranges = OriginRanges.announced

  /// Whether the resource is a live stream: one response is the whole generation.
  var isLive = false
  /// The end of the bytes received of a live stream.
  var liveEnd: Int64 = 0
  /// The titles of a live stream, by offset.
  var titles = StreamTitles()

  var lastCut: LastCut?

  var readers: [ReaderID: Reader] = [:]
  var fetches: [FetchID: RunningFetch] = [:]
  var waiters: [WaiterID: Waiter] = [:]
  /// Readers of the previous generation, under their identifiers there, that had requested
  /// something and read nothing when this one replaced it. They are about to arrive, so fetches
  /// begun for them continue.
  var expectedReaders: Set<ReaderID> = []
  var nextID: UInt64 = 1
  var isWatchingAbandoned = false

  var isSuperseded = false
  var isClosed = false
  /// The reader that alone receives the response; nil: every reader may.
  var handed: Handed?
  /// The recent rate of the origin, in bytes per second.
  var rate: Double?
  /// The shortest time from a request to the head of its response, in seconds.
  var latency: Double?
  var runs = RecentRuns()
  /// Whether a reader has jumped elsewhere: requests made for it may be useless now.
  var hasJumped = false
  /// Whether that reader had read sequentially for a while before.
  var hasLeftLongRun = false

  init(
    limits: FetchPlan, isOffline: Bool, representation: Representation = Representation()
  ) {
    self.representation = representation
    self.limits = limits
    self.isOffline = isOffline
  }

  mutating func makeID() -> UInt64 {
    defer { nextID += 1 }
    return nextID
  }

  /// Whether another generation has replaced it, or the cache was closed.
  var isOver: Bool { isSuperseded || isClosed }

  var length: Int64? { info?.length }

  var readable: RangeSet<Int64> {
    transient.isEmpty ? stored : stored.union(transient.spans)
  }

  var isComplete: Bool {
    guard let length else { return false }
    return length == 0 || stored.range(containing: 0)?.upperBound ?? 0 >= length
  }
}

/// The most used properties of its parts.
extension GenerationState {
  var info: ContentInformation? { representation.info }
  var validator: Validator { representation.validator }
  var freshness: Freshness? { representation.freshness }
  /// The stored response, the same object until something changes; nil before the first response.
  var known: StoredResponse? {
    mutating get { representation.known }
  }

  var stored: RangeSet<Int64> { storage.spans }
  var file: EntryFile? { storage.file }
  var generationID: String? { storage.generationID }
  /// Whether bytes are not stored.
  var isTransient: Bool { storage.isBanned }
  var storageProblem: StorageProblem { storage.problem }
  /// Whether bytes were stored since the last sync, and a sync may succeed.
  var needsSync: Bool { storage.needsSync && !isClosed }
}
