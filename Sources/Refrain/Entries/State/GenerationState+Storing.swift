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
    let isWanted = isWanted(id)
    // Being wanted, or its turn, may take long.
    if !isWanted || fetch.isBackground { announce(id) }
    if !isWanted { fetches[id]?.endBody() }
    recount()
    return !isWanted ? .unwanted : fetch.isBackground ? .background : .foreground
  }

  struct Admission: Sendable {
    /// The parts that are not stored yet.
    var missing: RangeSet<Int64>
    /// Those that are, if nothing vouches for their being the same.
    var unproven: RangeSet<Int64>
    var file: EntryFile?
    /// Whether the file is ready to be written to.
    var isPrepared: Bool
    /// The end of the bytes that were written to it.
    var storedEnd: Int64
    var isRefused: Bool
    var isUnrepeatable: Bool
    /// Whether all bytes may be a document whose pace is not known yet.
    var mayBeDocument: Bool
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
      mayBeDocument: representation.mayBeUnreadDocument(ofLength: length))
  }

  /// The work that follows storing some bytes.
  struct Commit: Sendable {
    var actions: [Action]
    var journal: JournalRun?
    /// The delay after which a sync is due; nil for none.
    var syncDelay: Duration?
    /// Whether the record of the replaced generation is to be replaced now.
    var replacesRecord: Bool
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
    let count = range.upperBound - range.lowerBound
    if isNew { fetches[id]?.brought += count }
    fetches[id]?.unannounced += count
    if announces || fetches[id]?.mayDeferWakes != true { announce(id) }
    return Commit(
      actions: takeActions(), journal: note(range, of: id), syncDelay: storage.nextSync(now),
      replacesRecord: storage.isReplacing)
  }

  /// Extends the span of a fetch in the journal: two records take turns, one of which is whole at any
  /// moment.
  private mutating func note(_ range: ByteRange, of id: FetchID) -> JournalRun? {
    guard let journal = storage.journal else { return nil }
    if let last = fetches[id]?.journalRun, last.journal === journal,
      last.span.upperBound == range.lowerBound
    {
      fetches[id]?.journalRun?.turn = 1 - last.turn
      fetches[id]?.journalRun?.span = last.span.lowerBound..<range.upperBound
      return fetches[id]?.journalRun
    }
    let run = JournalRun(journal: journal, first: journal.reserve(2), span: range)
    fetches[id]?.journalRun = run
    return run
  }

  /// Wakes readers that wait for bytes stored since they were last woken.
  mutating func announce(_ id: FetchID) {
    if fetches[id]?.unannounced == 0 { return }
    fetches[id]?.unannounced = 0
    wakeServed()
  }

  // MARK: The files

  mutating func adopt(_ contents: EntryDirectory.Contents) {
    representation.adopt(contents.record)
    if contents.record.supportsRanges { note(.answered) }
    storage.adopt(contents)
  }

  /// Stops storing after the entry was removed from the disk: remaining readers continue with the
  /// open file, then from memory.
  mutating func filesRemoved() {
    storage.remove(hasReaders: !readers.isEmpty)
    guard readers.isEmpty else { return }
    // The next reader starts again, so bytes in transit are not wanted.
    for (id, fetch) in fetches where !fetch.isConfirmation { fetches[id]?.endAtPosition() }
  }
}
