// SPDX-License-Identifier: MIT
import Foundation

/// Bytes: those stored, those only in memory, and when to sync.
extension GenerationState {
  /// Commits bytes that have been written: readers may use them from now on.
  ///
  /// - Parameter announces: whether waiting readers are woken now; otherwise with the next bytes,
  ///   or by `announce`.
  /// - Returns: nil if the file is no longer this generation's.
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

  /// Wakes readers that wait for recently stored bytes.
  mutating func announce(_ id: FetchID) -> [Action] {
    if fetches[id]?.unannounced == 0 { return [] }
    fetches[id]?.unannounced = 0
    return wakeServed()
  }

  /// Readers need the first bytes soonest; later, fewer and longer pieces serve them as well.
  private func mayDefer(_ id: FetchID) -> Bool {
    guard let fetch = fetches[id] else { return false }
    return fetch.brought >= 1 << 20 && fetch.unannounced < 256 << 10
  }

  /// Records the allocated size of the data file.
  ///
  /// - Returns: the growth of the file and of the record since the last call: a span takes some
  ///   forty bytes of the record, twice while the record is replaced.
  mutating func account(_ allocated: Int64) -> (file: Int64, record: Int64) {
    // The record does not shrink before it is replaced.
    let spans = max(accountedSpans, 96 * Int64(stored.ranges.count))
    defer { (accounted, accountedSpans) = (allocated, spans) }
    return (allocated - accounted, spans - accountedSpans)
  }

  /// Begins a sync if it is due. A power cut loses at most 4 MiB or 2 s of data, whichever is more:
  /// syncing at half of either leaves time for the sync itself.
  ///
  /// - Returns: the delay until the sync; nil if none is due yet.
  mutating func nextSync(_ now: ContinuousClock.Instant) -> Duration? {
    guard unsyncedBytes >= 2 << 20 else { return nil }
    isSyncing = true
    return lastSync.map { max(.zero, .seconds(1) - (now - $0)) } ?? .zero
  }

  mutating func syncBegan(at now: ContinuousClock.Instant) {
    lastSync = now
    unsyncedBytes = 0
  }

  /// - Returns: the delay until the next sync, for bytes that have arrived in the meantime.
  @discardableResult
  mutating func syncEnded(isDone: Bool) -> Duration? {
    isSyncing = false
    if isDone { return nextSync(.now) }
    // The next attempt comes with more bytes, or at the end.
    unsyncedBytes = 0
    return nil
  }

  /// Adopts the contents found on disk.
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

  /// Keeps received bytes that are not stored, for as long as a reader is near.
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

  /// The facts that `StoringDecision` needs.
  var storingMemory: StoringDecision.Memory {
    .init(
      generation: generationID, length: length, validator: validator,
      answeredAt: vouchedAt == nil ? nil : freshness?.confirmedAt,
      replaced: replaced)
  }

  /// Drops a range that could not be read back from the file: it is fetched again.
  ///
  /// The record has to drop it before anything more is written, because a gap would read as zeros.
  ///
  /// - Parameter size: the file's size, if known. If the file was truncated, everything beyond its
  ///   end is lost.
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

  /// Forgets the stored bytes, which are gone with their directory: readers keep what they
  /// received, and the rest is fetched and stored again.
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

  /// Stops storing after the entry was removed from the disk: remaining readers continue with the
  /// open file, then from memory.
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
    // The next reader starts again, so bytes in transit are not wanted.
    file = nil
    generationID = nil
    stored = RangeSet()
    synced = RangeSet()
    for (id, fetch) in fetches where !fetch.isConfirmation {
      fetches[id]?.range = fetch.range.lowerBound..<max(fetch.range.lowerBound, fetch.position)
    }
  }

  /// Whether a reader is near any byte that a fetch has yet to bring: otherwise bytes that cannot
  /// be stored are useless.
  func isOfUse(_ id: FetchID, from offset: Int64) -> Bool {
    guard let fetch = fetches[id] else { return false }
    let rest = offset..<max(fetch.range.upperBound, offset + 1)
    return transientWindows().contains { $0.overlaps(rest) }
  }

  /// Adopts further bytes of this generation that another process has stored.
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
    // A reader that has begun a live stream cannot get its start elsewhere.
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

  /// - Parameter time: from a request to the head of its response.
  mutating func noteLatency(_ time: Duration) {
    latency = min(latency ?? .infinity, time.seconds)
  }
}
