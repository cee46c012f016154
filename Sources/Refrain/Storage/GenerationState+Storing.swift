// SPDX-License-Identifier: MIT
import Foundation

/// Bytes: what was stored, what is only in memory, and when to sync.
extension GenerationState {
  /// Bytes have come and are written: a reader may have them from now on.
  ///
  /// - Parameter announces: whoever waits for them is woken now; else with what comes next, or by
  ///   `announce`.
  /// - Returns: nil where the file that they were written to is not this generation's any more.
  mutating func commit(
    _ id: FetchID, _ range: ByteRange, to file: EntryFile, announces: Bool = true,
    now: ContinuousClock.Instant
  ) -> Commit? {
    guard file === self.file else { return nil }
    let isNew = !stored.contains(range.lowerBound)
    stored.insert(contentsOf: range)
    reached = max(reached, range.upperBound)
    lost.remove(contentsOf: range)
    moveFetch(id, to: range.upperBound)
    if isNew { fetches[id]?.brought += range.upperBound - range.lowerBound }
    unsyncedBytes += range.upperBound - range.lowerBound
    isRecordStale = true
    fetches[id]?.unannounced += range.upperBound - range.lowerBound
    let actions = announces || !mayDefer(id) ? announce(id) : []
    var commit = Commit(actions: actions, journal: nil, syncDelay: nil)
    if let journal {
      var run = JournalRun(journal: journal, first: journalCount, span: range)
      if let last = fetches[id]?.journalRun, last.journal === journal,
        last.span.upperBound == range.lowerBound
      {
        run = last
        run.span = last.span.lowerBound..<range.upperBound
        run.turn = 1 - last.turn
      } else {
        journalCount += 2
      }
      fetches[id]?.journalRun = run
      commit.journal = (journal, run.first + run.turn, run.span)
    }
    if !isSyncing { commit.syncDelay = nextSync(now) }
    if recordState == .deferred, !isRecordDue {
      isRecordDue = true
      commit.defersRecord = true
    }
    return commit
  }

  /// Wakes whoever waits for what was stored lately.
  mutating func announce(_ id: FetchID) -> [Action] {
    if fetches[id]?.unannounced == 0 { return [] }
    fetches[id]?.unannounced = 0
    return wakeServed()
  }

  /// The beginning is waited for most; later on, readers do as well with fewer and longer pieces.
  private func mayDefer(_ id: FetchID) -> Bool {
    guard let fetch = fetches[id] else { return false }
    return fetch.brought >= 1 << 20 && fetch.unannounced < 256 << 10
  }

  /// Notes what the data file takes on disk.
  ///
  /// - Returns: how much more that is than was noted before, and how much more the record takes: a
  ///   span takes some forty bytes of it, which are there twice while it is replaced.
  mutating func account(_ allocated: Int64) -> (file: Int64, record: Int64) {
    // It takes no less before it is replaced.
    let spans = max(accountedSpans, 96 * Int64(stored.ranges.count))
    defer { (accounted, accountedSpans) = (allocated, spans) }
    return (allocated - accounted, spans - accountedSpans)
  }

  /// A power cut takes 4 MiB or 2 s at most: half of either leaves time for the sync itself.
  ///
  /// - Returns: after which time the next sync is wanted, and it is begun; nil: not yet.
  mutating func nextSync(_ now: ContinuousClock.Instant) -> Duration? {
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
    headers = record.storedHeaders
    variant = record.variant
    grants = record.grants
    invalidatedAt = record.invalidatedAt
    generationID = record.generation
    file = contents.file
    stored = contents.spans
    reached = max(reached, stored.ranges.last?.upperBound ?? 0)
    synced = contents.syncedSpans
  }

  /// Bytes have come that are not stored: kept for as long as a reader is near.
  ///
  /// - Parameter error: what those are told who want them stored.
  mutating func commitTransient(
    _ id: FetchID, _ bytes: Data, at offset: Int64
  ) -> [Action] {
    let range = offset..<(offset + Int64(bytes.count))
    hasGivenUnstored = true
    reached = max(reached, range.upperBound)
    let windows = transientWindows()
    if windows.contains(where: { $0.overlaps(range) }) { transient.insert(bytes, at: offset) }
    transient.keep(near: windows)
    moveFetch(id, to: range.upperBound)
    if let fetch = fetches[id], range.upperBound > fetch.furthest {
      fetches[id]?.brought += range.upperBound - max(range.lowerBound, fetch.furthest)
      fetches[id]?.furthest = range.upperBound
    }
    if isLive { liveEnd = max(liveEnd, range.upperBound) }
    let actions = wakeServed()
    let readers = readers
    let wakes = takeWaiters { waiter in
      readers[waiter.reader]?.isBackground == true && waiter.offset.map(range.contains) == true
    }
    return wakes.isEmpty ? actions : actions + [.wake(wakes, storageProblem.error)]
  }

  /// What `StoringDecision` has to know.
  var storingMemory: StoringDecision.Memory {
    .init(
      generation: generationID, length: length, validator: validator,
      answeredAt: vouchedAt == nil ? nil : freshness?.confirmedAt,
      replaced: replaced)
  }

  /// The file does not give back what it was given: the range is fetched again.
  ///
  /// The record has to say so before anything more is written: what lies between would read as zeros.
  ///
  /// - Parameter size: the file's, where it is known. Where it was cut short, all that was behind is
  ///   lost.
  mutating func lose(_ range: ByteRange, size: Int64?) {
    var gone = RangeSet(range)
    if let size, size < range.upperBound {
      gone.insert(contentsOf: min(size, range.lowerBound)..<Int64.max)
    }
    guard !stored.intersection(gone).isEmpty else { return }
    hasGivenUnstored = true
    journal = nil
    lost.formUnion(stored.intersection(gone))
    stored.subtract(gone)
    synced.subtract(gone)
    isRecordStale = true
  }

  /// What was stored is gone, with its directory: readers keep what they were given, and the rest is
  /// fetched, and stored, again.
  mutating func filesVanished() {
    if !stored.isEmpty { hasGivenUnstored = true }
    recordState = .written
    journal = nil
    file = nil
    generationID = nil
    stored = RangeSet()
    synced = RangeSet()
    lost = RangeSet()
    unsyncedBytes = 0
    accounted = 0
    accountedSpans = 0
  }

  /// The entry was removed from the disk: who reads on reads what is there, and the rest from memory.
  mutating func filesRemoved() {
    recordState = .written
    journal = nil
    unsyncedBytes = 0
    isRecordStale = false
    hasGivenUnstored = true
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

  func transientWindows() -> [ByteRange] {
    let ahead = min(limits.maximumReadAhead, 2 << 20)
    let waiting = waiters.values.filter { readers[$0.reader]?.isBackground != true }
      .compactMap(\.offset)
    // Who has settled on a live stream cannot get its start anywhere else.
    let near = readers.values.filter { ($0.isActive || (isLive && $0.hasRead)) && !$0.isBackground }
    return (near.map(\.position) + waiting)
      .map { max(0, $0 - (64 << 10))..<($0 + ahead) }
  }

  mutating func moveFetch(_ id: FetchID, to position: Int64) {
    guard let fetch = fetches[id] else { return }
    fetches[id]?.position = max(fetch.position, position)
  }

  mutating func noteRate(_ bytesPerSecond: Double) {
    rate = rate.map { $0 * 0.7 + bytesPerSecond * 0.3 } ?? bytesPerSecond
  }

  /// - Parameter time: from a request to the head of its answer.
  mutating func noteLatency(_ time: Duration) {
    latency = min(latency ?? .infinity, time.seconds)
  }
}
