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
    let isNew = storage.commit(range)
    moveFetch(id, to: range.upperBound)
    if isNew { fetches[id]?.brought += range.upperBound - range.lowerBound }
    fetches[id]?.unannounced += range.upperBound - range.lowerBound
    let actions = announces || !mayDefer(id) ? announce(id) : []
    var commit = Commit(actions: actions, journal: nil, syncDelay: nil)
    if let journal = storage.journal {
      var run: JournalRun
      if let last = fetches[id]?.journalRun, last.journal === journal,
        last.span.upperBound == range.lowerBound
      {
        run = last
        run.span = last.span.lowerBound..<range.upperBound
        run.turn = 1 - last.turn
      } else {
        run = JournalRun(
          journal: journal, first: storage.reserveJournalRecords(), span: range)
      }
      fetches[id]?.journalRun = run
      commit.journal = (journal, run.first + run.turn, run.span)
    }
    commit.syncDelay = storage.nextSync(now)
    commit.defersRecord = storage.scheduleRecord()
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

  /// Adopts the contents found on disk.
  mutating func adopt(_ contents: EntryDirectory.Contents) {
    representation.adopt(contents.record)
    if contents.record.supportsRanges { noteRange() }
    storage.adopt(contents)
  }

  /// Keeps received bytes that are not stored, for as long as a reader is near.
  mutating func commitTransient(
    _ id: FetchID, _ bytes: Data, at offset: Int64
  ) -> [Action] {
    let range = offset..<(offset + Int64(bytes.count))
    storage.passUnstored(upTo: range.upperBound)
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
      replaced: storage.replaced)
  }

  /// Stops storing after the entry was removed from the disk: remaining readers continue with the
  /// open file, then from memory.
  mutating func filesRemoved() {
    storage.remove(hasReaders: !readers.isEmpty)
    guard readers.isEmpty else { return }
    // The next reader starts again, so bytes in transit are not wanted.
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
    storage.catchUp(contents)
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
