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
    case startConfirmation(FetchID)
    case cancel(Task<Void, Never>)
    case wake([Wake], (any Error)?)
    /// A paused fetch goes on.
    case resume(CheckedContinuation<Void, Never>)
    /// A player waits for what was fetched in the background.
    case promote(FetchID)
  }

  struct Reader: Sendable {
    var position: Int64 = 0
    var runLength: Int64 = 0
    var end: Int64 = .max
    var isBackground = false
    /// The smallest request made for it.
    var minimum: Int64
    /// It has asked for something.
    var isActive = false
    /// It was given bytes of this generation: it cannot be moved to another.
    var hasRead = false
    /// Nothing is given to it before the origin has confirmed this generation.
    var awaitsConfirmation = false
  }

  struct Fetch: Sendable {
    var range: ByteRange
    var position: Int64
    var isWhole = false
    var isConfirmation = false
    var isBackground = false
    /// The head of a whole response has come, and its bytes are coming.
    var isReceiving = false
    /// Nothing is under way for it: it waits before it asks, or asks again.
    var isResting = false
    var task: Task<Void, Never>?
    var paused: CheckedContinuation<Void, Never>?
  }

  struct Waiter: Sendable {
    var reader: ReaderID
    /// Nil: it waits for the content information.
    var offset: Int64?
    var wake: Wake
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

  /// What is to be done about bytes that were just stored.
  struct Commit: Sendable {
    var actions: [Action]
    /// Where the span is to be written down.
    var journal: (file: JournalFile, number: Int)?
    /// A sync is wanted, after that time.
    var syncDelay: Duration?
  }

  enum Look: Sendable {
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

  var info: ContentInformation?
  var validator = Validator()
  var freshness: Freshness?

  var stored = RangeSet<Int64>()
  var file: EntryFile?
  var transient = TransientBytes()
  /// The origin has answered for this generation since it was opened, or could not be asked.
  var isVouchedFor = false
  /// The origin says that it has ranges, and ignores them.
  var ignoresRanges = false

  /// Bytes are not stored: `no-store`, or another process writes, or the disk is full.
  var isTransient = false

  var storageBan = StorageBan.none
  /// The name under which it is stored; nil while it is not.
  var generationID: String?
  /// Of `stored`, what survives a power cut.
  var synced = RangeSet<Int64>()
  var journal: JournalFile?
  var journalCount = 0
  /// Allocated blocks of the file, as the store was told.
  var accounted: Int64 = 0
  var unsyncedBytes: Int64 = 0
  var lastSync: ContinuousClock.Instant?
  var isSyncing = false
  /// The record does not have what is known by now.
  var isRecordStale = false

  var readers: [ReaderID: Reader] = [:]
  var fetches: [FetchID: Fetch] = [:]
  var waiters: [WaiterID: Waiter] = [:]
  private var nextID: UInt64 = 1

  var isSuperseded = false
  var isClosed = false
  private var rate: Double?

  init(limits: FetchPlan, isOffline: Bool) {
    self.limits = limits
    self.isOffline = isOffline
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

  /// Something was stored since the last sync, and a sync may succeed.
  var needsSync: Bool { unsyncedBytes > 0 && journal != nil && !isClosed }

  // MARK: Readers

  mutating func detach(_ id: ReaderID) -> [Action] {
    readers[id] = nil
    let left = waiters.filter { $0.value.reader == id }
    for waiter in left.keys { waiters[waiter] = nil }
    // Its bytes are deleted, and only kept by this.
    if isSuperseded, readers.isEmpty { file = nil }
    var actions: [Action] = []
    if !left.isEmpty { actions.append(.wake(left.values.map(\.wake), CancellationError())) }
    if !transient.isEmpty { transient.keep(near: transientWindows()) }
    actions += releaseUnwanted()
    return actions
  }

  /// What a reader finds at an offset; it is taken to read up to `count` bytes of it.
  mutating func look(_ id: ReaderID, at offset: Int64, count: Int) -> (Look, [Action]) {
    // It was cancelled, or moved to another generation, a moment ago: it finds out by itself.
    guard var reader = readers[id] else { return (.moved, []) }
    if isClosed { return (.failed(Self.closed), []) }
    if offset != reader.position || !reader.isActive {
      // Small steps ahead are sequential reading too: a demuxer that skips.
      let step = offset - reader.position
      // So are larger ones over what is there: whoever reads the file by itself.
      let goesOn =
        reader.isActive && step >= 0
        && (step <= limits.firstRequest
          || stored.range(containing: reader.position).map { offset <= $0.upperBound } == true)
      reader.runLength = goesOn ? reader.runLength + step : 0
      reader.position = offset
      reader.isActive = true
    }
    defer { readers[id] = reader }

    if isSuperseded, !reader.hasRead { return (.moved, []) }
    if reader.awaitsConfirmation {
      readers[id] = reader
      return (.wait, confirm())
    }
    if let length, offset >= length { return (.end, []) }
    if let range = stored.range(containing: offset), let file {
      let upTo = min(range.upperBound, length ?? .max)
      advance(&reader, by: min(Int64(count), upTo - offset))
      readers[id] = reader
      // The usual case, and the one that has to be quick: there is plenty ahead.
      if upTo - reader.position > limits.maximumReadAhead, fetches.isEmpty {
        return (.stored(upTo: upTo, file), [])
      }
      return (.stored(upTo: upTo, file), readAhead(for: id))
    }
    if !reader.isBackground, let bytes = transient.bytes(at: offset) {
      advance(&reader, by: min(Int64(count), Int64(bytes.count)))
      readers[id] = reader
      return (.transient(bytes), readAhead(for: id))
    }
    if isSuperseded { return (.failed(Self.changed), []) }
    return (.wait, [])
  }

  private func advance(_ reader: inout Reader, by count: Int64) {
    reader.position += count
    reader.runLength += count
    if count > 0 { reader.hasRead = true }
  }

  static let closed = MediaCacheError(.closed, "The cache was closed.")

  static let changed = MediaCacheError(
    .resourceChanged, "The resource changed at the origin while it was being read.",
    remedy: "Open it again: it starts anew with the new version.")

  // MARK: Waiting

  /// Registers a waiter, unless what it waits for is there or can never come.
  ///
  /// - Returns: an outcome to deliver at once, if there is one.
  mutating func wait(
    _ id: WaiterID, _ waiter: Waiter
  ) -> (outcome: Result<Void, any Error>?, [Action]) {
    // It looks again, and finds out why.
    guard let reader = readers[waiter.reader] else { return (.success(()), []) }
    if isClosed { return (.failure(Self.closed), []) }
    if isSuperseded { return (.success(()), []) }
    if !reader.awaitsConfirmation, isServed(waiter) { return (.success(()), []) }
    if isOffline {
      let error = MediaCacheError(
        .offline, "These bytes are not stored, and no request is made while offline.",
        remedy: "Go online, or bring the resource into the cache before.")
      return (.failure(error), [])
    }
    readers[waiter.reader]?.isActive = true
    waiters[id] = waiter
    return (nil, reader.awaitsConfirmation ? confirm() : plan())
  }

  private func isServed(_ waiter: Waiter) -> Bool {
    guard let offset = waiter.offset else { return info != nil }
    if let length, offset >= length { return true }
    if stored.contains(offset) { return true }
    // In the background, bytes are brought to be stored.
    return readers[waiter.reader]?.isBackground != true && transient.spans.contains(offset)
  }

  mutating func cancelWaiter(_ id: WaiterID) -> [Action] {
    guard let waiter = waiters.removeValue(forKey: id) else { return [] }
    return [.wake([waiter.wake], CancellationError())] + releaseUnwanted()
  }

  private mutating func takeWaiters(where condition: (Waiter) -> Bool) -> [Wake] {
    let found = waiters.filter { condition($0.value) }
    for id in found.keys { waiters[id] = nil }
    return found.values.map(\.wake)
  }

  private mutating func wakeServed() -> [Action] {
    guard !waiters.isEmpty else { return [] }
    let before = self
    let wakes = takeWaiters { waiter in
      before.readers[waiter.reader]?.awaitsConfirmation != true && before.isServed(waiter)
    }
    return wakes.isEmpty ? [] : [.wake(wakes, nil)]
  }

  // MARK: Fetches

  private mutating func confirm() -> [Action] {
    guard !fetches.values.contains(where: \.isConfirmation) else { return [] }
    let id = makeID()
    fetches[id] = Fetch(range: 0..<0, position: 0, isConfirmation: true)
    return [.startConfirmation(id)]
  }

  /// What every reader calls for: those that wait first, those in the background last.
  mutating func plan() -> [Action] {
    let waiting = Set(waiters.values.map(\.reader))
    let order = readers.keys.sorted { left, right in
      rank(left, waiting) < rank(right, waiting)
    }
    return order.flatMap { plan(for: $0, isWaiting: waiting.contains($0)) }
  }

  private func rank(_ id: ReaderID, _ waiting: Set<ReaderID>) -> (Int, ReaderID) {
    ((readers[id]?.isBackground == true ? 2 : 0) + (waiting.contains(id) ? 0 : 1), id)
  }

  /// What a reader that goes on reading calls for.
  private mutating func readAhead(for id: ReaderID) -> [Action] {
    if isComplete || isOffline { return [] }
    return plan(for: id, isWaiting: false) + resumePaused()
  }

  private mutating func plan(for id: ReaderID, isWaiting: Bool) -> [Action] {
    guard !isSuperseded, !isClosed, !isOffline, let reader = readers[id], reader.isActive,
      !reader.awaitsConfirmation
    else { return [] }
    var limits = limits
    limits.length = length
    limits.supportsRanges = ignoresRanges ? false : info?.supportsRanges
    limits.rate = rate
    // Memory is dearer than disk.
    if isTransient { limits.maximumReadAhead = min(limits.maximumReadAhead, 2 << 20) }

    let offsets =
      isWaiting
      ? waiters.values.filter { $0.reader == id }.map { $0.offset ?? reader.position }
      : [reader.position]
    var actions: [Action] = []
    for offset in Set(offsets).sorted() {
      // At most two: the request that is missing, and the one after it.
      for _ in 0..<2 {
        let demand = FetchPlan.Demand(
          position: offset, runLength: reader.runLength,
          end: offset < reader.end ? reader.end : .max, isWaiting: isWaiting,
          isBackground: reader.isBackground, minimum: reader.minimum)
        let running = fetches.filter { !$0.value.isConfirmation }.map { $0 }
        let decision = limits.decide(
          for: demand, readable: reader.isBackground ? stored : readable,
          running: running.map {
            .init(range: $0.value.range, position: $0.value.position, isWhole: $0.value.isWhole)
          })
        switch decision {
        case .none: break
        case .start(let range):
          actions.append(start(range, isBackground: reader.isBackground))
          continue
        case .startAndTruncate(let range, let index):
          let other = running[index].key
          fetches[other]?.range = running[index].value.range.lowerBound..<range.lowerBound
          actions.append(start(range, isBackground: reader.isBackground))
          continue
        }
        break
      }
      if isWaiting, !reader.isBackground { actions += promote(at: offset) }
    }
    return actions + (isWaiting ? resumePaused() : [])
  }

  private mutating func start(_ range: ByteRange, isBackground: Bool) -> Action {
    let id = makeID()
    fetches[id] = Fetch(
      range: range, position: range.lowerBound,
      isWhole: ignoresRanges || info?.supportsRanges == false, isBackground: isBackground)
    return .startFetch(id, range)
  }

  private mutating func promote(at offset: Int64) -> [Action] {
    var actions: [Action] = []
    for (id, fetch) in fetches where fetch.isBackground {
      guard fetch.position <= offset, offset < fetch.range.upperBound else { continue }
      fetches[id]?.isBackground = false
      actions.append(.promote(id))
    }
    return actions
  }

  /// Whether a fetch has a reason to receive more: a request of bounded size is brought home, for
  /// what was asked for is on its way; a whole response stops where no reader wants it.
  func isWanted(_ id: FetchID) -> Bool {
    guard let fetch = fetches[id], !isSuperseded, !isClosed else { return false }
    guard fetch.isWhole else { return fetch.position < fetch.range.upperBound }
    var limits = limits
    limits.rate = nil
    if isTransient { limits.maximumReadAhead = min(limits.maximumReadAhead, 2 << 20) }
    for waiter in waiters.values {
      guard let offset = waiter.offset, offset >= fetch.position else { continue }
      let nearer = fetches.contains {
        $0.key != id && $0.value.isWhole && $0.value.position > fetch.position
          && $0.value.position <= offset
      }
      if !nearer { return true }
    }
    return readers.values.contains { reader in
      guard reader.isActive, reader.position <= fetch.position, reader.end > fetch.position else {
        return false
      }
      let window = limits.window(
        for: .init(
          position: reader.position, runLength: max(reader.runLength, 4 * limits.firstRequest),
          isWaiting: false, isBackground: false, minimum: 1))
      return fetch.position < reader.position + window
    }
  }

  /// Whether anyone is there who could come to want what is fetched.
  var hasAudience: Bool { !readers.isEmpty && !isSuperseded && !isClosed }

  /// A fetch goes to wait with nothing under way: from now on it can be called off.
  ///
  /// - Returns: false where nobody is left to want it.
  mutating func beginRest(_ id: FetchID) -> Bool {
    guard hasAudience else { return false }
    fetches[id]?.isResting = true
    fetches[id]?.isReceiving = false
    return true
  }

  mutating func endRest(_ id: FetchID) {
    fetches[id]?.isResting = false
  }

  /// A whole response has come to what may have been a question for a range.
  ///
  /// - Returns: false where another one is still to come by at `offset`: one is enough, and whoever
  ///   waits has it to wait for.
  mutating func beginWhole(_ id: FetchID, at offset: Int64) -> Bool {
    let end = length ?? .max
    let other = fetches.first { other, fetch in
      other != id && fetch.isWhole && fetch.isReceiving && fetch.position <= offset
    }
    guard let other else {
      fetches[id]?.isReceiving = true
      fetches[id]?.isWhole = true
      fetches[id]?.range = 0..<end
      fetches[id]?.position = 0
      return true
    }
    // It may have been cut short where this one was to begin.
    fetches[other.key]?.range = 0..<end
    ignoresRanges = true
    return false
  }

  private mutating func resumePaused() -> [Action] {
    var actions: [Action] = []
    for (id, fetch) in fetches {
      guard let paused = fetch.paused, isWanted(id) else { continue }
      fetches[id]?.paused = nil
      actions.append(.resume(paused))
    }
    return actions
  }

  /// Ends what nobody is left to want.
  private mutating func releaseUnwanted() -> [Action] {
    guard readers.isEmpty else { return [] }
    var actions: [Action] = []
    for (id, fetch) in fetches where fetch.isWhole || fetch.isConfirmation || fetch.isResting {
      if let paused = fetch.paused {
        fetches[id]?.paused = nil
        actions.append(.resume(paused))
      }
      if let task = fetch.task { actions.append(.cancel(task)) }
    }
    return actions
  }

  /// Bytes have come and are written: a reader may have them from now on.
  ///
  /// - Returns: nil where the file that they were written to is not this generation's any more.
  mutating func commit(
    _ id: FetchID, _ range: ByteRange, to file: EntryFile?, now: ContinuousClock.Instant
  ) -> Commit? {
    guard file === self.file else { return nil }
    stored.insert(contentsOf: range)
    moveFetch(id, to: range.upperBound)
    unsyncedBytes += range.upperBound - range.lowerBound
    isRecordStale = true
    var commit = Commit(actions: wakeServed(), journal: nil, syncDelay: nil)
    if let journal {
      commit.journal = (journal, journalCount)
      journalCount += 1
    }
    if !isSyncing { commit.syncDelay = nextSync(now) }
    return commit
  }

  /// A power cut takes 4 MiB or 2 s at most: half of either leaves time for the sync itself.
  ///
  /// - Returns: after which time the next sync is wanted, and it is begun; nil: not yet.
  private mutating func nextSync(_ now: ContinuousClock.Instant) -> Duration? {
    guard unsyncedBytes >= 2 << 20 else { return nil }
    isSyncing = true
    return lastSync.map { max(.zero, .seconds(1) - (now - $0)) } ?? .zero
  }

  mutating func syncBegan(at now: ContinuousClock.Instant) {
    lastSync = now
    unsyncedBytes = 0
  }

  /// - Returns: after which time the next one is wanted, for what has come in the meantime.
  @discardableResult
  mutating func syncEnded(isDone: Bool) -> Duration? {
    isSyncing = false
    if isDone { return nextSync(.now) }
    // It is tried again when more has come, or at the end.
    unsyncedBytes = 0
    return nil
  }

  /// Takes over what was found on disk.
  mutating func adopt(_ contents: EntryDirectory.Contents) {
    let record = contents.record
    info = ContentInformation(
      length: record.length, mimeType: record.mimeType, supportsRanges: record.supportsRanges,
      validator: record.validator.display,
      finalURL: URL(string: record.finalURL) ?? URL(filePath: "/"))
    validator = record.validator
    freshness = record.freshness
    generationID = record.generation
    file = contents.file
    stored = contents.spans
    synced = contents.syncedSpans
  }

  /// Bytes have come that are not stored: kept for as long as a reader is near.
  ///
  /// - Parameter error: what those are told who want them stored.
  mutating func commitTransient(
    _ id: FetchID, _ bytes: Data, at offset: Int64
  ) -> [Action] {
    let range = offset..<(offset + Int64(bytes.count))
    let windows = transientWindows()
    if windows.contains(where: { $0.overlaps(range) }) { transient.insert(bytes, at: offset) }
    transient.keep(near: windows)
    moveFetch(id, to: range.upperBound)
    let actions = wakeServed()
    let readers = readers
    let wakes = takeWaiters { waiter in
      readers[waiter.reader]?.isBackground == true && waiter.offset.map(range.contains) == true
    }
    return wakes.isEmpty ? actions : actions + [.wake(wakes, Self.noRoom)]
  }

  static let noRoom = MediaCacheError(
    .storage, "The bytes cannot be stored at the moment.",
    remedy: "Raise the limit or free some disk space; an origin can forbid storing, too.")

  /// The entry was removed from the disk: who reads on reads what is there, and the rest from memory.
  mutating func filesRemoved() {
    journal = nil
    unsyncedBytes = 0
    isRecordStale = false
    guard readers.isEmpty else {
      storageBan = .forGood
      isTransient = true
      return
    }
    // Whoever comes next begins anew, and what is on its way is not wanted.
    file = nil
    generationID = nil
    stored = RangeSet()
    synced = RangeSet()
    for (id, fetch) in fetches where !fetch.isConfirmation {
      fetches[id]?.range = fetch.range.lowerBound..<max(fetch.range.lowerBound, fetch.position)
    }
  }

  /// Whether a reader is near anything that a fetch is still to bring: otherwise bytes that cannot
  /// be stored are of use to nobody.
  func isOfUse(_ id: FetchID, from offset: Int64) -> Bool {
    guard let fetch = fetches[id] else { return false }
    let rest = offset..<max(fetch.range.upperBound, offset + 1)
    return transientWindows().contains { $0.overlaps(rest) }
  }

  /// Another process has stored more of this generation.
  mutating func catchUp(_ contents: EntryDirectory.Contents) -> [Action] {
    generationID = contents.record.generation
    file = contents.file
    stored.formUnion(contents.spans)
    return wakeServed()
  }

  private func transientWindows() -> [ByteRange] {
    let ahead = min(limits.maximumReadAhead, 2 << 20)
    let waiting = waiters.values.filter { readers[$0.reader]?.isBackground != true }
      .compactMap(\.offset)
    return (readers.values.filter { $0.isActive && !$0.isBackground }.map(\.position) + waiting)
      .map { max(0, $0 - (64 << 10))..<($0 + ahead) }
  }

  mutating func moveFetch(_ id: FetchID, to position: Int64) {
    guard let fetch = fetches[id] else { return }
    fetches[id]?.position = max(fetch.position, position)
  }

  mutating func noteRate(_ bytesPerSecond: Double) {
    rate = rate.map { $0 * 0.7 + bytesPerSecond * 0.3 } ?? bytesPerSecond
  }

  /// The origin has told what the resource is.
  mutating func establish(_ information: ContentInformation, whole id: FetchID?) -> [Action] {
    info = information
    var actions: [Action] = []
    if let id, fetches[id] != nil {
      // From its first byte to its end, whatever was asked for.
      fetches[id]?.isWhole = true
      fetches[id]?.range = 0..<(information.length ?? .max)
      fetches[id]?.position = 0
    }
    if let length = information.length { actions += bound(length) }
    return wakeServed() + actions
  }

  /// The length has become known: nothing lies beyond it.
  private mutating func bound(_ length: Int64) -> [Action] {
    for (id, fetch) in fetches where fetch.range.upperBound > length {
      let lower = min(fetch.range.lowerBound, length)
      fetches[id]?.range = lower..<length
    }
    return []
  }

  /// Where the resource ends has been found out by coming to its end.
  mutating func end(at length: Int64) -> [Action] {
    guard info?.length == nil else { return [] }
    info?.length = length
    return bound(length) + wakeServed()
  }

  /// A fetch is over.
  ///
  /// - Parameters:
  ///   - error: what those who wait for its bytes are told; nil: they may ask again.
  ///   - isForBackground: readers that play may ask again all the same.
  mutating func fetchEnded(
    _ id: FetchID, error: MediaCacheError?, isForBackground: Bool = false
  ) -> [Action] {
    guard let fetch = fetches.removeValue(forKey: id) else { return [] }
    var actions: [Action] = []
    if let error {
      let readers = readers
      let information = info
      let wakes = takeWaiters { waiter in
        let awaits = readers[waiter.reader]?.awaitsConfirmation == true
        if fetch.isConfirmation { return awaits }
        if isForBackground, readers[waiter.reader]?.isBackground != true { return false }
        guard let offset = waiter.offset else { return information == nil }
        return !awaits && offset >= fetch.position && offset < fetch.range.upperBound
      }
      if !wakes.isEmpty { actions.append(.wake(wakes, error)) }
    }
    // Who came while a confirmation was being called off has waited for it in vain.
    if fetch.isConfirmation, !isSuperseded, !isClosed,
      waiters.values.contains(where: { readers[$0.reader]?.awaitsConfirmation == true })
    {
      actions += confirm()
    }
    return actions + wakeServed() + (waiters.isEmpty ? [] : plan())
  }

  /// The origin has confirmed the generation, or cannot be asked.
  mutating func confirmed() -> [Action] {
    isVouchedFor = true
    for id in readers.keys { readers[id]?.awaitsConfirmation = false }
    // All of them look again: what they wait for may have been there all along.
    return wakeServed() + plan()
  }

  /// A newer generation has taken this one's place.
  mutating func supersede() -> [Action] {
    isSuperseded = true
    return endAll(waitersWith: nil)
  }

  /// Nothing goes on from here.
  mutating func close() -> [Action] {
    isClosed = true
    return endAll(waitersWith: Self.closed)
  }

  private mutating func endAll(waitersWith error: (any Error)?) -> [Action] {
    var actions: [Action] = []
    for (id, fetch) in fetches {
      if let paused = fetch.paused {
        fetches[id]?.paused = nil
        actions.append(.resume(paused))
      }
      if let task = fetch.task { actions.append(.cancel(task)) }
    }
    let wakes = takeWaiters { _ in true }
    if !wakes.isEmpty { actions.append(.wake(wakes, error)) }
    return actions
  }
}
