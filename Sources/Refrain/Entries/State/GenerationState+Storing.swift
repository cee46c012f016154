// SPDX-License-Identifier: MIT
import Foundation

/// The way of a chunk: whether another one is received (`standing`), which of its parts are written
/// (`admit`), and what follows once they are (`commit`). Each takes the lock once.
extension GenerationState {
  /// A player is short if it has less ahead of it than its window.
  enum Standing: Sendable { case over, unwanted, background, foreground, short }

  /// `offset` is the end of the bytes received; nil once all have been.
  mutating func standing(_ id: FetchID, at offset: Int64?) -> Standing {
    guard let offset else { return .foreground }
    guard let fetch = fetches[id], !isOver, offset < fetch.range.upperBound else { return .over }
    if fetch.phase != .whole { fetches[id]?.phase = .part }
    let isWanted = isWanted(id)
    if !isWanted || fetch.isBackground {
      announce(id)
      return isWanted ? .background : .unwanted
    }
    let isShort = readers.values.contains { reader in
      reader.isActive && !reader.isBackground && reader.position < fetch.range.upperBound
        && fetch.position < reader.end
        && fetch.position - reader.position < limits.window(afterRun: reader.runLength)
    }
    return isShort ? .short : .foreground
  }

  struct Admission: Sendable {
    var missing: RangeSet<Int64>
    /// The parts that are stored, if nothing vouches for their being the same.
    var unproven: RangeSet<Int64>
    var file: EntryFile?
    var isPrepared: Bool
    var storedEnd: Int64
    var isRefused: Bool
    var isUnrepeatable: Bool
    var mayBeDocument: Bool
  }

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

  typealias Commit = (journal: JournalFile?, syncDelay: Duration?)

  /// Commits written bytes for readers, who are perhaps not woken before later ones unless it
  /// `announces`. Nil if the file is no longer this generation's.
  mutating func commit(
    _ id: FetchID, _ range: ByteRange, to file: EntryFile, announces: Bool = true,
    now: ContinuousClock.Instant
  ) -> Commit? {
    fetches[id]?.bring(range)
    guard file === self.file else { return nil }
    storage.commit(range)
    fetches[id]?.unannounced += range.upperBound - range.lowerBound
    // Readers need the first bytes soonest; later, fewer and longer pieces serve them as well.
    let isDeferred = fetches[id].map { $0.brought >= 1 << 20 && $0.unannounced < 256 << 10 }
    if announces || isDeferred != true { announce(id) }
    return (storage.journal, storage.syncs.next(now))
  }

  mutating func announce(_ id: FetchID) {
    if fetches[id]?.unannounced == 0 { return }
    fetches[id]?.unannounced = 0
    wakeServed()
  }

  /// Keeps received bytes in memory while a player is near; false if none is near any byte that the
  /// fetch has yet to bring.
  mutating func commitTransient(_ id: FetchID, _ bytes: Data, at offset: Int64) -> Bool {
    let range = offset..<(offset + Int64(bytes.count))
    let windows = transientWindows
    let rest = offset..<max(fetches[id]?.range.upperBound ?? 0, range.upperBound)
    guard fetches[id] != nil, windows.contains(where: { $0.overlaps(rest) }) else { return false }
    if windows.contains(where: { $0.overlaps(range) }) { transient.insert(bytes, at: offset) }
    transient.keep(near: windows)
    transient.liveEnd = transient.liveEnd.map { max($0, range.upperBound) }
    fetches[id]?.bring(range)
    wakeServed()
    let unserved = readers.waits.filter {
      $0.reader.isBackground && $0.offset.map(range.contains) == true
    }
    wake(unserved, with: storageProblem)
    return true
  }

  var transientWindows: [ByteRange] {
    let ahead = min(limits.maximumReadAhead, TransientBytes.mostAhead)
    let waiting = readers.waits.filter { !$0.reader.isBackground }.compactMap(\.offset)
    // One that rests, too: it cannot get the start of a live stream elsewhere.
    let near = readers.values.filter { !$0.isBackground }.map(\.position)
    return (near + waiting).map { max(0, $0 - (64 << 10))..<($0 + ahead) }
  }

  mutating func adopt(_ contents: EntryDirectory.Contents) {
    representation.adopt(contents.record)
    if contents.record.supportsRanges { fetches.note(.answered) }
    storage.adopt(contents)
  }

  mutating func filesRemoved() {
    storage.remove(hasReaders: !readers.isEmpty)
    guard readers.isEmpty else { return }
    for (id, fetch) in fetches.all where !fetch.isConfirmation { fetches[id]?.endAtPosition() }
    supersede()
  }

  /// `record` is that of the stored entry; nil if there is nothing readable.
  func storingDecision(for record: EntryRecord?) -> StoringDecision {
    guard let record else { return .start }
    if generationID == record.generation { return .resume }
    // The readers hold bytes of files that another process has replaced.
    if generationID != nil { return .stream }
    if storage.replaced == record.generation { return .start }
    let isOtherLength = if let length, let other = record.length { length != other } else { false }
    let match = validator.matches(record.validator)
    if !isOtherLength, match == .same || match == .weaklySame { return .resume }
    return record.freshness.isOutdated == true ? .start : .stream
  }

  /// Whether the origin forbids to store the response (`no-store`, RFC 9111 §5.2.2.5). A cache for
  /// one person stores it all the same for a pinned group, as a browser saves a page on request,
  /// and revalidates it before each use. Before there is a pin, a reader's wish suffices
  /// (`ResourcePolicy.Group.isKept`); what has none when the entry is closed is removed (`Store`).
  var isForbidden: Bool { freshness?.noStore == true && !storage.ignoresNoStore }

  mutating func obeyNoStore() {
    storage.ignoresNoStore = false
    if isForbidden { storage.refuse(.forbidden) }
  }
}

enum StoringDecision: Sendable, Hashable {
  case resume
  /// Make new files, replacing any stored ones.
  case start
  /// Leave alone what another process has stored, which may be another version.
  case stream
}

/// Live streams: another response begins elsewhere. So one response is all of a generation, passes
/// through memory, and is not continued when it breaks off.
extension GenerationState {
  var isLive: Bool { transient.liveEnd != nil }

  /// Whether a new reader needs a response of its own: the start has passed, or nothing follows it.
  var hasPassedStart: Bool {
    (transient.liveEnd ?? 0) > 0 && (!transient.spans.contains(0) || fetches.isEmpty)
  }

  /// Whether stored bytes can be neither completed nor confirmed until the end has come.
  var isUnrepeatable: Bool {
    info.map { $0.length == nil && !$0.supportsRanges && validator.isEmpty } ?? false
  }

  static let brokeOff = MediaCacheError(
    .resourceChanged, "The live stream broke off.",
    remedy: "Open the stream again to play from its current position.")

  static let outOfReach = MediaCacheError(
    .badRange, "The requested part of the live stream has passed, or is too far ahead.",
    remedy: "Open the stream again to play from its current position.")
}
