// SPDX-License-Identifier: MIT
import Foundation

/// The way of a chunk: whether another one is received (`standing`), which of its parts are written
/// (`admit`), and what follows once they are (`commit`). Each takes the lock once.
extension GenerationState {
  /// Whether a fetch receives more.
  enum Standing: Sendable {
    case over
    /// It has to wait until a reader wants more.
    case unwanted
    /// It gives way to players.
    case background
    case foreground
  }

  /// - Parameter offset: the end of the bytes received; nil once all have been.
  mutating func standing(_ id: FetchID, at offset: Int64?) -> Standing {
    guard let offset else {
      recount()
      return .foreground
    }
    guard let fetch = fetches[id], !isOver, offset < fetch.range.upperBound else { return .over }
    if !isWanted(id) {
      announce(id)
      endBody(id)
      return .unwanted
    }
    // Waiting for its turn may take long.
    if fetch.isBackground { announce(id) }
    recount()
    return fetch.isBackground ? .background : .foreground
  }

  /// What is to be done with a chunk.
  struct Admission: Sendable {
    /// The parts that are not stored yet.
    var missing: RangeSet<Int64>
    /// Those that are, if nothing vouches for their being the same.
    var unproven: RangeSet<Int64>
    /// The file of the generation.
    var file: EntryFile?
    /// Whether the file is ready to be written to.
    var isPrepared: Bool
    /// The end of the bytes that were written to it.
    var storedEnd: Int64
    /// Whether nothing may be stored for now.
    var isRefused: Bool
    var isUnrepeatable: Bool
    /// Whether all bytes may be a document whose pace is not known yet.
    var mayBeDocument: Bool

    /// Whether some of it may be written to the file.
    var isForFile: Bool { isPrepared && !isRefused && !missing.isEmpty }

    /// Has nothing stored of the chunk.
    mutating func refuse() { (isPrepared, isRefused) = (false, true) }
  }

  /// Decides on a chunk that has been received.
  ///
  /// - Returns: nil if the fetch is over.
  func admit(_ id: FetchID, _ range: ByteRange) -> Admission? {
    guard let fetch = fetches[id], !isOver else { return nil }
    // No further than requested, or than this fetch was shortened to.
    let end = fetch.isCalledOff ? range.upperBound : fetch.range.upperBound
    let wanted = RangeSet(range.clamped(to: min(fetch.range.lowerBound, range.lowerBound)..<end))
    return Admission(
      missing: wanted.subtracting(stored),
      unproven: validator.ifRange == nil ? stored.intersection(RangeSet(range)) : RangeSet(),
      file: file, isPrepared: storage.isPrepared && !isTransient,
      storedEnd: stored.ranges.last?.upperBound ?? 0,
      isRefused: storage.isRefused(at: .now), isUnrepeatable: isUnrepeatable,
      mayBeDocument: representation.mayBeUnreadDocument)
  }

  /// Commits bytes that have been written: readers may use them from now on.
  ///
  /// - Parameter announces: whether waiting readers are woken now; otherwise with the next bytes,
  ///   or by `announce`.
  /// - Returns: nil if the file is no longer this generation's.
  mutating func commit(
    _ id: FetchID, _ range: ByteRange, to file: EntryFile, announces: Bool = true,
    now: ContinuousClock.Instant
  ) -> Commit? {
    fetches.move(id, to: range.upperBound)
    guard file === self.file else { return nil }
    let isNew = storage.commit(range)
    if isNew { fetches[id]?.brought += range.upperBound - range.lowerBound }
    fetches[id]?.unannounced += range.upperBound - range.lowerBound
    if announces || !mayDefer(id) { announce(id) }
    var commit = Commit(actions: takeActions())
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
          journal: journal, first: journal.reserve(2), span: range)
      }
      fetches[id]?.journalRun = run
      commit.journal = (journal, run.first + run.turn, run.span)
    }
    commit.syncDelay = storage.nextSync(now)
    commit.wantsRecord = storage.wantsRecord
    return commit
  }

  /// Wakes readers that wait for recently stored bytes.
  mutating func announce(_ id: FetchID) {
    if fetches[id]?.unannounced == 0 { return }
    fetches[id]?.unannounced = 0
    wakeServed()
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
  mutating func commitTransient(_ id: FetchID, _ bytes: Data, at offset: Int64) {
    let range = offset..<(offset + Int64(bytes.count))
    storage.passUnstored(upTo: range.upperBound)
    let windows = transientWindows()
    if windows.contains(where: { $0.overlaps(range) }) { transient.insert(bytes, at: offset) }
    transient.keep(near: windows)
    fetches.move(id, to: range.upperBound)
    if let fetch = fetches[id], range.upperBound > fetch.furthest {
      fetches[id]?.brought += range.upperBound - max(range.lowerBound, fetch.furthest)
      fetches[id]?.furthest = range.upperBound
    }
    if case .live(let end) = delivery { delivery = .live(end: max(end, range.upperBound)) }
    wakeServed()
    let wakes = readers.takeWaiters { waiter, reader in
      reader?.isBackground == true && waiter.offset.map(range.contains) == true
    }
    wake(wakes, with: storageProblem.error)
  }

  /// The facts that `StoringDecision` needs.
  var storingMemory: StoringDecision.Memory {
    .init(
      generation: generationID, length: length, validator: validator,
      answeredAt: lastContact.time == nil ? nil : freshness?.confirmedAt,
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

  func transientWindows() -> [ByteRange] {
    let ahead = min(limits.maximumReadAhead, 2 << 20)
    let waiting = readers.waiters.values.filter { readers[$0.reader]?.isBackground != true }
      .compactMap(\.offset)
    // A reader that has begun a live stream cannot get its start elsewhere.
    let near = readers.values.filter { ($0.isActive || (isLive && $0.hasRead)) && !$0.isBackground }
    return (near.map(\.position) + waiting)
      .map { max(0, $0 - (64 << 10))..<($0 + ahead) }
  }
}
