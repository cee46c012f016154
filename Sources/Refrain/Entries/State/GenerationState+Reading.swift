// SPDX-License-Identifier: MIT

extension GenerationState {
  struct Reader: Sendable {
    var position: Int64 = 0
    var runLength: Int64 = 0
    var end: Int64 = .max
    var readsOn = false
    var isBackground = false
    var fillsWhole = false
    /// The smallest request made for it.
    var minimum: Int64 = 1
    var activity = Activity.resting
    var attachment = Attachment.loose
    /// The refusal that was met while nobody waited, by a fetch that fills the rest for it.
    var missed: MediaCacheError?
    var terms = ReadTerms()
    /// What it was opened for.
    var resource: Resource?

    /// It reads on from its position, or is about to wait because it has found nothing there.
    enum Activity: Sendable { case resting, reading, aboutToWait }

    enum Attachment: Sendable {
      /// It can move to another generation.
      case loose
      /// As `loose`, once the origin has confirmed this generation.
      case unconfirmed
      /// It has bytes of this one.
      case fixed
    }

    var isActive: Bool { activity != .resting }
    var hasRead: Bool { attachment == .fixed }
    var awaitsConfirmation: Bool { attachment == .unconfirmed }

    mutating func confirm() { if awaitsConfirmation { attachment = .loose } }

    mutating func advance(by count: Int64) {
      if count > 0 { attachment = .fixed }
      position += count
      runLength += count
    }
  }

  struct Waiter: Sendable {
    var reader: ReaderID
    /// Nil for the content information.
    var offset: Int64?
    var wake: Wake
  }

  typealias Wake = @Sendable (Result<Void, any Error>) -> Void

  typealias Wait = (id: WaiterID, offset: Int64?, readerID: ReaderID, reader: Reader)

  struct Readers: Sendable {
    private(set) var all: [ReaderID: Reader] = [:]
    private(set) var waiters: [WaiterID: Waiter] = [:]
    /// How far recent readers read in sequence before a seek or their end; the latest last.
    private var runs: [Int64] = []

    subscript(id: ReaderID) -> Reader? {
      get { all[id] }
      set { if let newValue, all[id] != nil { all[id] = newValue } }
    }

    var values: Dictionary<ReaderID, Reader>.Values { all.values }
    var isEmpty: Bool { all.isEmpty }

    mutating func add(_ reader: Reader, as id: ReaderID) { all[id] = reader }

    mutating func remove(_ id: ReaderID) { all[id] = nil }

    var waits: [Wait] {
      waiters.compactMap { id, waiter in
        all[waiter.reader].map { (id, waiter.offset, waiter.reader, $0) }
      }
    }

    var waiting: Set<ReaderID> { Set(waiters.values.map(\.reader)) }

    mutating func add(_ waiter: Waiter, as id: WaiterID) { waiters[id] = waiter }

    mutating func end(_ waits: [Wait]) -> [Wake] {
      waits.compactMap { waiters.removeValue(forKey: $0.id)?.wake }
    }

    /// The longest recent run. Nil while there are few: a player looks at the beginning and at the
    /// end before it plays.
    var usualRun: Int64? { runs.count < 4 ? nil : runs.max() }

    mutating func runEnded(_ reader: Reader, in length: Int64?) {
      // A reader at its end could not have continued.
      guard !reader.isBackground, reader.runLength > 0,
        reader.position < min(reader.end, length ?? .max)
      else { return }
      runs = runs.suffix(7) + [reader.runLength]
    }
  }
}

extension GenerationState {
  /// Looks up an offset, and advances the reader by up to `count` of the bytes found there.
  mutating func lookUp(_ id: ReaderID, at offset: Int64, count: Int) -> Lookup<AvailableBytes> {
    guard var reader = readers[id] else { return .moved }
    let hasJumped = move(&reader, to: offset)
    let found = available(to: id, reader, at: offset)
    var looksAhead = false
    switch found {
    case .found(.file(_, let upTo)):
      reader.advance(by: min(Int64(count), upTo - offset))
      looksAhead = upTo - reader.position <= limits.maximumReadAhead || !fetches.isEmpty
    case .found(.memory(let bytes)):
      reader.advance(by: min(Int64(count), Int64(bytes.count)))
      looksAhead = true
    case .wait: reader.activity = .aboutToWait
    default: break
    }
    readers[id] = reader
    if looksAhead, !isComplete, !isOffline {
      if reader.position < reader.end { plan(for: reader, at: reader.position, isWaiting: false) }
      resumePaused()
    }
    if hasJumped, !found.isWait, !fetches.isEmpty { releaseUnwanted() }
    return found
  }

  func lookUpInformation(_ id: ReaderID) -> Lookup<ContentInformation> {
    guard let reader = readers[id] else { return .moved }
    return obstacle(for: reader) ?? info.map { .found($0) }
      ?? (isOver ? .failed(Self.changed) : .wait)
  }

  /// From here on the reader stays with this generation.
  @inline(never)
  mutating func settle(_ id: ReaderID) -> Lookup<ContentInformation> {
    let found = lookUpInformation(id)
    if case .found = found { readers[id]?.attachment = .fixed }
    return found
  }

  private func available(
    to id: ReaderID, _ reader: Reader, at offset: Int64
  ) -> Lookup<AvailableBytes> {
    if let obstacle: Lookup<AvailableBytes> = obstacle(for: reader) { return obstacle }
    if let length, offset >= length { return .found(.end) }
    if let range = stored.range(containing: offset), let file {
      return .found(.file(file, upTo: min(range.upperBound, length ?? .max)))
    }
    if !reader.isBackground, let bytes = transient.bytes(at: offset) {
      return .found(.memory(bytes))
    }
    if life == .superseded { return .failed(isLive ? Self.brokeOff : Self.changed) }
    if reader.isBackground, isLive { return .failed(.endless) }
    // It has passed, or is further ahead than a demuxer skips: waiting for it could take hours.
    guard let liveEnd = transient.liveEnd,
      offset < liveEnd || offset - liveEnd > limits.firstRequest
    else { return .wait }
    // A reader that has read nothing may join the stream at its current position.
    return hasPassedStart && !reader.hasRead ? .moved : .failed(Self.outOfReach)
  }

  private func obstacle<Found>(for reader: Reader) -> Lookup<Found>? {
    if life == .closed { return .failed(Self.closed) }
    if life == .superseded, !reader.hasRead { return .moved }
    return reader.awaitsConfirmation ? .wait : nil
  }

  private mutating func move(_ reader: inout Reader, to offset: Int64) -> Bool {
    defer { reader.activity = .reading }
    if offset == reader.position, reader.isActive { return false }
    // A demuxer skips, and a client may read stored bytes from the file itself.
    let step = offset - reader.position
    let goesOn =
      reader.isActive && step >= 0
      && (step <= limits.firstRequest || offset <= stored.end(from: reader.position))
    if !goesOn { readers.runEnded(reader, in: length) }
    reader.runLength = goesOn ? reader.runLength + step : 0
    reader.position = offset
    return !goesOn
  }

  // MARK: Waiting

  /// Returns the reader that waits for the first response, opened for just what was requested, and
  /// passes on what is not stored.
  func reader(asking given: Resource?) -> Reader? {
    guard let given, info == nil else { return nil }
    return readers.waits.filter { wait in
      wait.reader.terms.passesOnErrors && !wait.reader.isBackground
        && wait.reader.resource?.isAsked(as: given) == true
    }.min { $0.readerID < $1.readerID }?.reader
  }

  /// Registers a waiter, or returns its outcome: a success lets the reader look again.
  mutating func wait(_ id: WaiterID, _ waiter: Waiter) -> Result<Void, any Error>? {
    guard let reader = readers[waiter.reader] else { return .success(()) }
    readers[waiter.reader]?.activity = .reading
    if isServed(waiter.reader, reader, at: waiter.offset) { return .success(()) }
    if isOffline { return .failure(MediaCacheError.offline) }
    readers[waiter.reader]?.missed = nil
    if fetches.isEmpty, let missed = reader.missed { return .failure(missed) }
    readers.add(waiter, as: id)
    plan()
    releaseUnwanted()
    return nil
  }

  /// Whether a reader finds something at an offset, or the content information (nil), or an error.
  func isServed(_ id: ReaderID, _ reader: Reader, at offset: Int64?) -> Bool {
    if let offset { return !available(to: id, reader, at: offset).isWait }
    return !lookUpInformation(id).isWait
  }

  mutating func cancelWaiter(_ id: WaiterID) {
    wake(readers.waits.filter { $0.id == id }, with: CancellationError())
  }

  mutating func wakeServed() {
    wake(readers.waits.filter { isServed($0.readerID, $0.reader, at: $0.offset) })
  }

  /// Whether a request for others is running, or about to. Readers that waited and no longer wait
  /// have received an error.
  func isAsked(byOthersThan id: ReaderID) -> Bool {
    !fetches.isEmpty || !readers.waiters.isEmpty
      || readers.all.contains { (other, reader) in other != id && reader.activity != .reading }
  }

  static let changed = MediaCacheError(
    .resourceChanged, "The resource changed at the origin while it was being read.",
    remedy: "Open the resource again to read the new version.")
}

/// Readers that jump or leave. Bytes in transit are lost once their connection is closed, so a
/// request without readers first waits: a player reads the end of a file, then plays its beginning.
/// But a player that jumps must not wait behind a request that has long brought what it read.
extension GenerationState {
  mutating func rest(_ id: ReaderID) {
    guard let reader = readers[id] else { return }
    readers[id]?.activity = .resting
    readers.runEnded(reader, in: length)
    releaseUnwanted()
  }

  mutating func detach(_ id: ReaderID) {
    wake(readers.waits.filter { $0.readerID == id }, with: CancellationError())
    rest(id)
    readers.remove(id)
    // The file is unlinked, but its blocks are in use until it is closed.
    if life == .superseded, readers.isEmpty { storage.releaseFile() }
    if !transient.isEmpty { transient.keep(near: transientWindows) }
    releaseUnwanted()
  }

  /// Ends fetches that no reader is left to want, some only if none comes back (`watch`).
  mutating func releaseUnwanted() {
    for (id, fetch) in abandonedFetches where !isKeptToEnd(fetch) {
      let ends =
        readers.isEmpty
        ? fetch.isResting || fetch.isWhole || fetch.isConfirmation
        : fetch.brought >= 1 << 20 && !readers.waiters.isEmpty
      if ends { callOff(id) }
    }
    watch()
  }

  mutating func watch() {
    guard fetches.watched.isEmpty else { return }
    fetches.watched = Set(abandonedFetches.keys)
    if !fetches.watched.isEmpty { actions.append(.watchAbandoned) }
  }

  /// Ends fetches to which no reader has come back; returns whether any are left to check.
  mutating func releaseStalled() -> Bool {
    let (before, abandoned) = (fetches.watched, abandonedFetches)
    fetches.watched = Set(abandoned.keys)
    for (id, fetch) in abandoned where before.contains(id) && !isKeptToEnd(fetch) { callOff(id) }
    return !abandoned.isEmpty
  }

  mutating func callOff(_ id: FetchID) {
    guard let fetch = fetches[id] else { return }
    fetches[id]?.isCalledOff = true
    if !fetch.isWhole, !fetch.isConfirmation { fetches[id]?.endAtPosition() }
    if let task = fetch.task { actions.append(.cancel(task)) }
  }

  /// The fetches without readers: if there are readers elsewhere, those with a long rest, which
  /// another request could bring. What an unknown resource is concerns every reader.
  private var abandonedFetches: [FetchID: RunningFetch] {
    if readers.isEmpty { return fetches.all }
    guard info != nil, !isOneResponse, !isOver else { return [:] }
    // One reader may wait in several places at once.
    let places =
      readers.values.filter(\.isActive).map { ($0.position, $0.end) }
      + readers.waits.compactMap { wait in wait.offset.map { ($0, .max) } }
    let covered = readable.with(fetches.values)
    return fetches.all.filter { _, fetch in
      !fetch.isWhole && !fetch.isConfirmation && !fetch.isCalledOff
        && fetch.range.upperBound - fetch.position > limits.mostBroughtHome
        && !places.contains { place, end in
          place < fetch.range.upperBound && fetch.position < end
            && covered.end(from: place) >= fetch.position
        }
    }
  }
}
