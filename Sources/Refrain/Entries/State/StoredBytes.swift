// SPDX-License-Identifier: MIT
import Foundation

/// The bytes of a generation on disk, their files, and whether more may be stored.
struct StoredBytes: Sendable {
  private(set) var spans = RangeSet<Int64>()
  /// The part of `spans` that survives a power cut.
  private(set) var synced = RangeSet<Int64>()
  /// Bytes that the file no longer holds, though its record may still claim them.
  private(set) var lost = RangeSet<Int64>()

  private(set) var file: EntryFile?
  private(set) var journal: JournalFile?
  private(set) var generationID: String?
  /// The stored generation that this one replaces.
  var replaced: String?
  /// Counts the changes of what the record describes besides its spans, and those it contains.
  private var counts = (changes: 0, recorded: 0)

  /// The sizes of the file and of the spans in the record, as last accounted.
  private var accounted: (file: Int64, record: Int64) = (0, 0)
  var syncs = SyncPace()

  /// Why nothing is stored, and when storing may be attempted again (nil: never). It stays until
  /// that attempt.
  var refusal: (problem: MediaCacheError, end: ContinuousClock.Instant?)?
  /// Whether bytes are stored although the origin forbids it, because a person wants to keep them.
  var ignoresNoStore = false

  mutating func refuse(_ problem: MediaCacheError, until end: ContinuousClock.Instant? = nil) {
    refusal = (problem, end)
  }

  func isRefused(at now: ContinuousClock.Instant) -> Bool {
    refusal.map { refusal in refusal.end.map { now < $0 } ?? true } ?? false
  }

  mutating func ignoreNoStore() {
    ignoresNoStore = true
    if refusal?.problem == .forbidden { refusal = nil }
  }

  var isPrepared: Bool { file != nil && journal != nil }

  mutating func begin(_ id: String, in file: EntryFile, _ journal: JournalFile?) {
    (generationID, self.file, self.journal) = (id, file, journal)
    accounted = (0, 0)
    refusal = nil
  }

  /// Adopts the bytes found on disk; further ones are stored beside them if there is a journal.
  mutating func adopt(
    _ contents: EntryDirectory.Contents, _ journal: JournalFile? = nil, allocated: Int64 = 0
  ) {
    // The file may have grown again since it was found too short.
    let found = contents.spans.subtracting(lost)
    let isKnown = generationID == contents.record.generation
    spans = isKnown ? found.union(spans) : found
    synced = found.intersection(RangeSet(contents.record.spans))
    (generationID, file) = (contents.record.generation, contents.file)
    self.journal = journal
    _ = account(allocated)
    refusal = nil
  }

  mutating func stopWriting() {
    journal = nil
    syncs.unsyncedBytes = 0
  }

  mutating func releaseFile() { file = nil }

  /// Forgets the bytes, which are gone with their directory.
  mutating func vanish() {
    stopWriting()
    (file, generationID) = (nil, nil)
    (spans, synced, lost) = (RangeSet(), RangeSet(), RangeSet())
    accounted = (0, 0)
  }

  /// Stops storing after a removal: readers go on with the open file, then from memory.
  mutating func remove(hasReaders: Bool) {
    if hasReaders { stopWriting() } else { vanish() }
    refuse(.purged)
    counts.recorded = changes
  }

  mutating func distrust(_ error: DiskError) {
    stopWriting()
    refuse(.disk(error))
    spans = spans.intersection(synced)
  }

  mutating func commit(_ range: ByteRange) {
    spans.insert(contentsOf: range)
    lost.remove(contentsOf: range)
    syncs.unsyncedBytes += range.upperBound - range.lowerBound
  }

  /// Drops a range that could not be read back, and everything beyond the end of a truncated file.
  /// The record has to drop it before anything more is written: a gap would read as zeros.
  mutating func lose(_ range: ByteRange, size: Int64?) {
    var gone = RangeSet(range)
    if let size, size < range.upperBound {
      gone.insert(contentsOf: min(size, range.lowerBound)..<Int64.max)
    }
    let missing = spans.intersection(gone)
    guard !missing.isEmpty else { return }
    journal = nil
    lost.formUnion(missing)
    spans.subtract(gone)
    synced.subtract(gone)
    noteRecordStale()
  }

  /// Returns the growth of the data file and of the record since the last call: a span takes some
  /// forty bytes, twice while the record is replaced.
  mutating func account(_ allocated: Int64) -> (file: Int64, record: Int64) {
    // The record does not shrink before it is replaced.
    let recorded = max(accounted.record, 96 * Int64(spans.ranges.count))
    defer { accounted = (allocated, recorded) }
    return (allocated - accounted.file, recorded - accounted.record)
  }

  mutating func noteRecordStale() { counts.changes += 1 }

  var changes: Int { counts.changes }

  var isRecordStale: Bool { changes != counts.recorded }

  mutating func recordWritten(with recorded: RangeSet<Int64>, _ changes: Int) {
    (synced, counts.recorded) = (recorded, changes)
  }

  mutating func beginSync(at now: ContinuousClock.Instant, nextJournal: JournalFile?) {
    journal = nextJournal
    syncs.begin(at: now)
  }
}

/// When written bytes are synced. A power cut loses at most 4 MiB or 2 s of data, whichever is more:
/// half of either leaves time for the sync itself.
struct SyncPace: Sendable {
  var unsyncedBytes: Int64 = 0
  private var last: ContinuousClock.Instant?
  private var isRunning = false

  /// Begins a sync if one is due, and returns the delay until then.
  mutating func next(_ now: ContinuousClock.Instant) -> Duration? {
    guard !isRunning, unsyncedBytes >= 2 << 20 else { return nil }
    isRunning = true
    return last.map { max(.zero, .seconds(1) - (now - $0)) } ?? .zero
  }

  mutating func begin(at now: ContinuousClock.Instant) { (last, unsyncedBytes) = (now, 0) }

  mutating func end(at now: ContinuousClock.Instant, isDone: Bool) -> Duration? {
    isRunning = false
    // After a failure, the next attempt comes with more bytes, or at the end.
    if !isDone { unsyncedBytes = 0 }
    return next(now)
  }
}

/// Why bytes are not stored.
extension MediaCacheError {
  static let noRoom = {
    var error = Self(
      .storage, "The cache has no room to store the bytes.",
      remedy: "Raise the limit or free some disk space.")
    error.hasNoRoom = true
    return error
  }()

  static let inUse = Self(
    .inUse, "Another process is storing this resource.",
    remedy: "Try again when that process has ended.")

  package static let forbidden = Self(
    .storage, "The origin forbids storing this resource.",
    remedy: "Play the resource instead: playback streams it.")

  static let endless = Self(
    .storage, "Live streams and resources that may have no end are not stored.",
    remedy: "Play the resource instead: playback streams it.")

  static let purged = Self(
    .storage, "The resource was purged while its bytes arrived.",
    remedy: "Try again: the present version is then fetched.")

  static func disk(_ error: DiskError) -> Self {
    Self(
      .storage, "The bytes could not be written: \(error).",
      remedy: "Check the disk and its permissions, or use another cache directory.")
  }
}

/// Bytes that are not stored, in memory between the fetch that brings them and nearby readers.
struct TransientBytes: Sendable {
  private var chunks: [(range: ByteRange, bytes: Data)] = []
  private(set) var spans = RangeSet<Int64>()
  /// The end of the bytes received of a live stream.
  var liveEnd: Int64?

  static let mostAhead: Int64 = 2 << 20

  var isEmpty: Bool { chunks.isEmpty }

  mutating func insert(_ bytes: Data, at offset: Int64) {
    let range = offset..<(offset + Int64(bytes.count))
    for part in RangeSet(range).subtracting(spans).ranges {
      let lower = bytes.startIndex + Int(part.lowerBound - offset)
      chunks.append((part, bytes[lower..<(lower + part.count)]))
    }
    spans.insert(contentsOf: range)
  }

  /// Returns the bytes from `offset` to the end of the chunk that holds it.
  func bytes(at offset: Int64) -> Data? {
    chunks.first { $0.range.contains(offset) }.map { chunk in
      chunk.bytes.dropFirst(Int(offset - chunk.range.lowerBound))
    }
  }

  mutating func keep(near windows: [ByteRange]) {
    chunks.removeAll { chunk in
      let goes = !windows.contains { $0.overlaps(chunk.range) }
      if goes { spans.remove(contentsOf: chunk.range) }
      return goes
    }
  }
}
