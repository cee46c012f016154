// SPDX-License-Identifier: MIT
import Foundation

typealias ReaderID = UInt64
typealias FetchID = UInt64
typealias WaiterID = UInt64

/// All that is known of one generation while it is open: what is there, who reads where, what is on
/// its way. A pure value: its methods change it and say what is to be done outside of the lock.
struct GenerationState: Sendable {
  /// What to do once the lock is let go.
  enum Action: Sendable {
    case startFetch(FetchID, ByteRange)
    case startConfirmation(FetchID, ByteRange)
    case cancel(Task<Void, Never>)
    case wake([WaiterResumption], (any Error)?)
    /// A paused fetch goes on.
    case resume(CheckedContinuation<Void, Never>)
    /// A player waits for what was fetched in the background.
    case promote(FetchID)
    /// Nobody reads any more: what is under way goes on for as long as it comes.
    case watchAbandoned
    /// So many more fetches, or fewer, are those that a player is short of.
    case countShort(Int)
  }

  struct Reader: Sendable {
    var position: Int64 = 0
    var runLength: Int64 = 0
    var end: Int64 = .max
    /// It has said that it reads all up to `end`.
    var readsOn = false
    var isBackground = false
    /// The smallest request made for it.
    var minimum: Int64
    /// It has asked for something.
    var isActive = false
    /// It has asked for bytes, and is expected to read on from there.
    var isReading = false
    /// It was given bytes of this generation: it cannot be moved to another.
    var hasRead = false
    /// It found bytes where it looked.
    var wasServed = false
    /// Nothing is given to it before the origin has confirmed this generation.
    var awaitsConfirmation = false
    var terms = FreshnessRequirements()
  }

  struct Fetch: Sendable {
    var range: ByteRange
    var position: Int64
    var isWhole = false
    /// It asks whether the generation still holds, and becomes a fetch like any other where the
    /// answer brings bytes of it.
    var isConfirmation = false
    /// While it confirms, it asks for bytes that are missing (`ConfirmingRequest.fills`).
    var fillsWhileConfirming = false
    var isBackground = false
    /// The head of a whole response has come, and its bytes are coming.
    var isReceiving = false
    /// Nothing is under way for it: it waits before it asks, or asks again.
    var isResting = false
    /// Ended for lack of readers: it says nothing of the origin that it brought nothing.
    var isCalledOff = false
    /// How many bytes it brought that were not there.
    var brought: Int64 = 0
    /// The end of what it ever brought: a whole response begins at its first byte again.
    var furthest: Int64 = 0
    /// The body of a response is coming.
    var hasBody = false
    /// It counts among those that a player is short of (`PlaybackPriority`).
    var isCounted = false
    var task: Task<Void, Never>?
    var paused: CheckedContinuation<Void, Never>?
    /// Its answer is another server's, compared with all that is stored before any of it is used.
    var isComparing = false
    /// What was written of such an answer: readable once all is compared.
    var pending = RangeSet<Int64>()
    /// How often another server has answered (`ResponseCheck.Verdict.otherServer`).
    var otherAnswers = 0
    /// Its range is on its way, unless what is stored does not hold any more.
    var bringsBytes: Bool { !isConfirmation || fillsWhileConfirming }
    /// The span that it extends, as it is written down in the journal.
    var journalRun: JournalRun?
    /// Where it waits for a network that a prefetch may use: has it asked for anew.
    var beginAnew: (@Sendable () -> Void)?
    /// How many bytes were stored since readers were woken for any.
    var unannounced: Int64 = 0
  }

  /// A span that grows, and its two records in a journal.
  struct JournalRun: Sendable {
    var journal: JournalFile
    /// The number of the first record.
    var first: Int
    /// Which of the two is written next.
    var turn = 0
    var span: ByteRange
  }

  struct Waiter: Sendable {
    var reader: ReaderID
    /// Nil: it waits for the content information.
    var offset: Int64?
    var wake: WaiterResumption
  }

  /// Whether storing may be tried.
  enum StorageBan: Sendable {
    case none
    case until(ContinuousClock.Instant)
    case forGood

    func holds(at now: ContinuousClock.Instant) -> Bool {
      switch self {
      case .none: false
      case .until(let instant): now < instant
      case .forGood: true
      }
    }
  }

  /// Whether the record on disk is this generation's.
  enum RecordState: Sendable {
    case written
    /// Its files lie beside those of the generation that it replaces, whose record still stands.
    case replacing
    /// There are no other files and there is no record yet: what is small has come whole before either
    /// it or a journal would be of use.
    case deferred
  }

  /// What is to be done about bytes that were just stored.
  struct Commit: Sendable {
    var actions: [Action]
    /// Where the span is to be written down.
    var journal: (file: JournalFile, number: Int, span: ByteRange)?
    /// A sync is wanted, after that time.
    var syncDelay: Duration?
    /// The record is wanted, some time from now (`RecordState.deferred`).
    var defersRecord = false
  }

  enum Lookup: Sendable {
    /// Stored from the offset up to there.
    case stored(upTo: Int64, EntryFile)
    /// In memory, from the offset on.
    case transient(Data)
    case end
    case wait
    /// Another generation has come, and this reader has read nothing of this one.
    case moved
    case failed(MediaCacheError)
  }

  var limits: FetchPlan
  var isOffline: Bool

  var info: ContentInformation? { didSet { knownChanged() } }
  var validator = Validator() { didSet { lastKnown = nil } }
  var freshness: Freshness? { didSet { knownChanged(pace: oldValue?.pace) } }
  /// The origin's other fields.
  var headers = HTTPFields() { didSet { lastKnown = nil } }
  /// Of several representations the one that this is.
  var variant: String? { didSet { lastKnown = nil } }
  /// To which credentials the origin gave or confirmed it; nil where that is not known.
  var grants: [String]? = [] { didSet { lastKnown = nil } }
  /// When a request was made that may have changed the resource.
  var invalidatedAt: Date? { didSet { lastKnown = nil } }
  private var lastKnown: StoredResponse?

  var stored = RangeSet<Int64>()
  var file: EntryFile?
  var transient = TransientBytes()
  /// Readers may have been given bytes that are not stored any more, or never were.
  var hasGivenUnstored = false
  /// The generation before was known to be no web page (`MediaType.isKnownNoPage`).
  var followsNoPage = false
  /// When the origin last answered for this generation, or could not be asked.
  var vouchedAt: Uptime?
  /// The origin says that it has ranges, and ignores them.
  var ignoresRanges = false

  /// It is a live stream: one answer is all of it.
  var isLive = false
  /// How far the answer of a live stream has come.
  var liveEnd: Int64 = 0
  /// What it plays, by where.
  var titles = StreamTitles()

  /// Bytes are not stored: `no-store`, or another process writes, or the disk is full.
  var isTransient = false

  var storageBan = StorageBan.none
  /// Why nothing is stored, where nothing is.
  var storageProblem = StorageProblem.noRoom
  /// The name under which it is stored; nil while it is not.
  var generationID: String?
  /// Stored generations that this one takes the place of.
  var replaced: Set<String> = []
  /// What the file no longer holds, though its record may still say so.
  var lost = RangeSet<Int64>()
  /// Of `stored`, what survives a power cut.
  var synced = RangeSet<Int64>()
  var journal: JournalFile?
  var journalCount = 0
  /// Allocated blocks of the file, as the store was told.
  var accounted: Int64 = 0
  /// What the spans take in the record, as the store was told.
  var accountedSpans: Int64 = 0
  var unsyncedBytes: Int64 = 0
  var lastSync: ContinuousClock.Instant?
  var isSyncing = false
  /// The record does not have what is known by now.
  var isRecordStale = false
  /// The end of the furthest byte that is known of this version, whether it is still there or not.
  var reached: Int64 = 0
  var recordState = RecordState.written
  var lastCut: LastCut?
  /// A record that waits will be written soon, whatever comes.
  var isRecordDue = false

  var readers: [ReaderID: Reader] = [:]
  var fetches: [FetchID: Fetch] = [:]
  var waiters: [WaiterID: Waiter] = [:]
  /// How many generations before this one were replaced, one after the other, before a reader was
  /// given a byte: servers that take turns with versions of their own.
  var unreadReplacements = 0
  /// Readers of the generation before, under their names there, who had asked for something and read
  /// nothing when this one took its place: they are on their way, and what was begun for them goes on.
  var expectedReaders: Set<ReaderID> = []
  var nextID: UInt64 = 1
  var isWatchingAbandoned = false

  var isSuperseded = false
  var isClosed = false
  /// Bytes a second that the origin sent lately.
  var rate: Double?
  /// The shortest time from a request to the head of its answer, in seconds.
  var latency: Double?
  var runs = RecentRuns()
  /// A reader has gone elsewhere: what was asked for on its behalf may be of no use any more.
  var hasJumped = false
  /// It had read on for a while before.
  var hasLeftLongRun = false

  init(limits: FetchPlan, isOffline: Bool) {
    self.limits = limits
    self.isOffline = isOffline
  }

  /// - Parameter pace: what was known of it before. The bytes of a generation do not change, nor what
  ///   they say.
  private mutating func knownChanged(pace: UpdatePace? = nil) {
    lastKnown = nil
    guard let info, let freshness, freshness.pace == nil else { return }
    let isNamed = Manifest.isNamed(mimeType: info.mimeType, url: info.finalURL)
    guard let pace = pace ?? (isNamed ? .unread : nil) else { return }
    self.freshness?.pace = pace
  }

  mutating func makeID() -> UInt64 {
    defer { nextID += 1 }
    return nextID
  }

  var length: Int64? { info?.length }

  var readable: RangeSet<Int64> {
    transient.isEmpty ? stored : stored.union(transient.spans)
  }

  var isComplete: Bool {
    guard let length else { return false }
    return length == 0 || stored.range(containing: 0)?.upperBound ?? 0 >= length
  }

  /// What is known by now, the same object until more is; nil before the first response.
  var known: StoredResponse? {
    mutating get {
      if lastKnown == nil { lastKnown = StoredResponse(self) }
      return lastKnown
    }
  }

  /// Something was stored since the last sync, and a sync may succeed.
  var needsSync: Bool { unsyncedBytes > 0 && isPrepared && !isClosed }

  /// Its files are ready to be written to.
  var isPrepared: Bool { file != nil && (journal != nil || recordState == .deferred) }

  /// The record is to be written before more comes.
  var wantsRecord: Bool {
    switch recordState {
    case .written: false
    case .replacing: true
    case .deferred: unsyncedBytes >= Self.mostWithoutRecord
    }
  }

  /// What a killed process may lose of what it has received, in bytes: as much as the first request
  /// asks for.
  private static let mostWithoutRecord: Int64 = 64 << 10
}
