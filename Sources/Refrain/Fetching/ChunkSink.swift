// SPDX-License-Identifier: MIT
import Foundation

/// Writes the bytes of a response to the file, or passes them directly to nearby readers.
struct ChunkSink: Sendable {
  let id: FetchID
  let generation: Generation
  /// Whether the next chunk has already arrived.
  var hasMore: (@Sendable () -> Bool)?

  private var entry: Entry { generation.entry }
  private var context: CacheContext { generation.entry.context }
  /// The resource's URL, for messages.
  private var url: String { entry.storage.url }

  enum Kept: Sendable {
    case kept
    /// Bytes received again differ from those received before: the origin has another generation.
    case changed
    /// The chunk cannot be stored, and no nearby reader can use it.
    case nowhere(MediaCacheError)
  }

  /// Stores the missing bytes of a chunk. Blocks on the disk.
  func keep(_ chunk: Data, at offset: Int64) async -> Kept {
    let range = offset..<(offset + Int64(chunk.count))
    let (absent, isOver, isExamined) = generation.withState {
      state -> (RangeSet<Int64>, Bool, Bool) in
      guard let fetch = state.fetches[id], !state.isSuperseded, !state.isClosed else {
        return (RangeSet(), true, false)
      }
      // No further than requested, or than this fetch was shortened to.
      let end = fetch.isCalledOff ? range.upperBound : fetch.range.upperBound
      let wanted = range.clamped(to: min(fetch.range.lowerBound, offset)..<end)
      return (
        RangeSet(wanted).subtracting(state.stored), false, state.representation.mayBeUnreadDocument
      )
    }
    if isOver { return .kept }
    var missing = absent
    if missing.byteCount < Int64(chunk.count) {
      switch compare(chunk, range) {
      case .same: break
      case .different:
        entry.supersede(generation, isContradicted: true)
        return .changed
      case .unreadable(let gone): missing.formUnion(gone)
      }
    }
    for part in missing.ranges {
      let lower = chunk.startIndex + Int(part.lowerBound - offset)
      let bytes = chunk[lower..<(lower + Int(part.upperBound - part.lowerBound))]
      if await store(bytes, at: part, isExamined: isExamined) { continue }
      if let problem = passOn(bytes, at: part.lowerBound) { return .nowhere(problem) }
    }
    // Readers may be due to be told of earlier bytes with these, of which none had to be stored.
    let announces = missing.isEmpty && hasMore?() != true
    generation.perform { state in
      state.moveFetch(id, to: range.upperBound)
      return announces ? state.announce(id) : []
    }
    return .kept
  }

  // MARK: Storing

  /// - Parameter isExamined: whether all bytes may be a document whose pace is not known yet.
  private func store(_ bytes: Data, at range: ByteRange, isExamined: Bool) async -> Bool {
    guard mayGrow(to: range.upperBound), let file = await wholeFile() else { return false }
    let name = entry.name
    // Blocks at either end may be new, and one of the journal.
    let granted = Int64(bytes.count) + 8192
    guard await reserve(granted + Self.journalBlock) else { return false }
    do throws(DiskError) {
      try file.write(bytes, at: range.lowerBound)
    } catch {
      settle(file, granted + Self.journalBlock, name)
      if error.isNoSpace {
        generation.perform { $0.announce(id) }
        let hasFreed = await context.evictor.free(max(granted, 8 << 20)) > 0
        let hasRoom = if hasFreed { true } else { await giveUpReplaced() }
        if hasRoom { return await storeAgain(bytes, at: range, file, isExamined) }
      }
      await entry.storage.writeFailed(generation, error)
      return false
    }
    if settle(file, granted, name) { dropHoles(of: file) }
    let journal = commit(range, to: file, isExamined: isExamined)
    context.budget.settle(Self.journalBlock, actual: journal?.growth() ?? 0, for: name)
    await recordFirstBytes()
    return true
  }

  /// Returns the file to write to, holding everything that was written to it. Another program may
  /// have cut it short: a write beyond its end would leave a hole that reads as zeros, so lost
  /// bytes are dropped first.
  private func wholeFile() async -> EntryFile? {
    for _ in 0..<3 {
      guard let file = await file() else { return nil }
      let end = generation.withState { $0.stored.ranges.last?.upperBound ?? 0 }
      let size: Int64
      do throws(DiskError) {
        size = try file.status().size
      } catch {
        await entry.storage.writeFailed(generation, error)
        return nil
      }
      if size >= end { return file }
      reportCut(file)
      generation.lose(size..<end, of: file, size: size)
    }
    return nil
  }

  private func reportCut(_ file: EntryFile) {
    context.events.send(
      .warning(
        "Another program truncated the file of \(url) (\(file.path)); the rest is fetched again."))
  }

  /// Drops bytes that lie in a hole of the file, which reads as zeros. Called when the file uses
  /// less disk space than before: another program may have cut it short between `wholeFile` and the
  /// write.
  ///
  /// A cut that frees no block, or less than the write itself allocated, cannot be detected.
  private func dropHoles(of file: EntryFile) {
    let holes: RangeSet<Int64>
    do throws(DiskError) {
      holes = try file.holes()
    } catch {
      return
    }
    let stored = generation.withState(\.stored)
    for hole in holes.ranges where !stored.intersection(RangeSet(hole)).isEmpty {
      reportCut(file)
      // The blocks on both sides are partly zeros: the cut cleared the end of the one, and the
      // write filled the other only from its own offset on.
      let gone = max(0, hole.lowerBound - Self.largestBlock)..<(hole.upperBound + Self.largestBlock)
      generation.lose(gone, of: file, size: nil)
    }
  }

  /// The largest block of a Linux file system, in bytes.
  private static let largestBlock: Int64 = 64 << 10

  /// Whether the file may grow. A stream without length, ranges and validator may be endless: it
  /// must not evict everything else.
  private func mayGrow(to end: Int64) -> Bool {
    let most = min(context.budget.limit.map { $0 / 4 } ?? .max, Self.mostOfUnrepeatable)
    return generation.withState { state in
      guard state.isUnrepeatable, end > most else { return true }
      state.storage.forbid(.forGood, .endless)
      return false
    }
  }

  private static let journalBlock: Int64 = 4096
  private static let mostOfUnrepeatable: Int64 = 1 << 30

  /// Writes again after room was made on a full disk.
  private func storeAgain(
    _ bytes: Data, at range: ByteRange, _ file: EntryFile, _ isExamined: Bool
  ) async -> Bool {
    do throws(DiskError) {
      try file.write(bytes, at: range.lowerBound)
    } catch {
      await entry.storage.writeFailed(generation, error)
      return false
    }
    if settle(file, 0, entry.name) { dropHoles(of: file) }
    let journal = commit(range, to: file, isExamined: isExamined)
    context.budget.settle(0, actual: journal?.growth() ?? 0, for: entry.name)
    await recordFirstBytes()
    return true
  }

  /// See `EntryStorage.recordFirstBytes`.
  private func recordFirstBytes() async {
    guard generation.withState(\.storage.wantsRecord) else { return }
    await entry.storage.recordFirstBytes(generation)
  }

  /// See `EntryStorage.giveUpReplaced`.
  private func giveUpReplaced() async -> Bool {
    guard generation.withState({ $0.storage.recordState == .replacing }) else { return false }
    return await entry.storage.giveUpReplaced(generation)
  }

  private func file() async -> EntryFile? {
    let (file, isBanned) = generation.withState { state in
      (
        state.storage.isPrepared && !state.isTransient ? state.file : nil,
        state.storage.ban.holds(at: .now)
      )
    }
    if let file { return file }
    if isBanned { return nil }
    return await entry.storage.prepare(generation)
  }

  private func reserve(_ bytes: Int64) async -> Bool {
    // Nothing is evicted for a resource that would not fit in the limit beside pinned entries: it
    // is stored as far as there is room.
    let mayEvict =
      generation.withState(\.length).map { context.budget.canHold($0, for: entry.name) } ?? true
    // Others may take the room that was made.
    for _ in 0..<4 {
      if case .granted = context.budget.reserve(bytes) { return true }
      // Eviction may take a while: nobody should wait for bytes that are already stored.
      generation.perform { $0.announce(id) }
      guard mayEvict, await context.evictor.makeRoom(for: bytes) else { break }
    }
    if await giveUpReplaced(), case .granted = context.budget.reserve(bytes) { return true }
    return refuse()
  }

  /// Stops storing while entries in use fill the limit; retried soon.
  private func refuse() -> Bool {
    generation.withState { $0.storage.forbid(.until(.now + .milliseconds(500)), .noRoom) }
    return false
  }

  /// Settles a grant, after all its writes.
  ///
  /// - Returns: whether the file uses less disk space than before.
  @discardableResult
  private func settle(_ file: EntryFile, _ granted: Int64, _ name: String) -> Bool {
    // Looked up under the lock, which takes a microsecond: two fetches must not report sizes in
    // another order than they saw them.
    let (grown, spans) = generation.withState { state -> (Int64, Int64) in
      guard state.file === file, let allocated = (try? file.status())?.allocated else {
        return (granted, 0)
      }
      return state.storage.account(allocated)
    }
    context.budget.settle(granted, actual: grown + spans, for: name)
    return grown < 0
  }

  /// - Returns: the journal that was written to.
  private func commit(
    _ range: ByteRange, to file: EntryFile, isExamined: Bool
  ) -> JournalFile? {
    let isKnown = !isExamined || generation.learnPace(with: (range, file))
    let now = ContinuousClock.now
    // Waking a reader costs more than a chunk: if the next one has arrived, one wake serves both.
    let announces = hasMore?() != true
    let commit = generation.withState {
      $0.commit(id, range, to: file, announces: announces, now: now)
    }
    guard let commit else { return nil }
    // Two fetches may have completed the resource together.
    if !isKnown { generation.learnPace() }
    generation.carryOut(commit.actions)
    context.events.sendTraffic(.committed(entry.key, range))
    let journal = commit.journal
    if let journal {
      do {
        try journal.file.write(journal.span, number: journal.number)
      } catch {
        // Only a killed process loses by this: it would fetch the range again.
        context.events.send(.warning("The journal of \(url) could not be written: \(error)."))
      }
    }
    if let delay = commit.syncDelay { entry.syncSoon(generation, after: delay) }
    if commit.defersRecord { entry.recordSoon(generation) }
    return journal?.file
  }

  // MARK: Passing on

  /// - Returns: why nobody can use the bytes; nil if they were passed on.
  private func passOn(_ bytes: Data, at offset: Int64) -> MediaCacheError? {
    guard generation.withState({ $0.isOfUse(id, from: offset) }) else {
      return generation.withState(\.storageProblem).error
    }
    generation.perform { $0.commitTransient(id, bytes, at: offset) }
    return nil
  }

  // MARK: Comparing

  private enum Comparison {
    case same
    case different
    /// These bytes cannot be read, so that nothing is known of them; they are dropped.
    case unreadable(RangeSet<Int64>)
  }

  /// Compares bytes received again with the stored ones, unless a validator vouches for every byte.
  private func compare(_ chunk: Data, _ range: ByteRange) -> Comparison {
    let (file, stored, isStrong) = generation.withState {
      ($0.file, $0.stored, $0.validator.ifRange != nil)
    }
    guard !isStrong, let file else { return .same }
    var unreadable = RangeSet<Int64>()
    var buffer = [UInt8](repeating: 0, count: chunk.count)
    for part in stored.intersection(RangeSet(range)).ranges {
      let count = Int(part.upperBound - part.lowerBound)
      let read = buffer.withUnsafeMutableBytes { buffer in
        try? file.read(
          into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), at: part.lowerBound)
      }
      let got = read ?? 0
      let lower = chunk.startIndex + Int(part.lowerBound - range.lowerBound)
      guard chunk[lower..<(lower + got)].elementsEqual(buffer[..<got]) else { return .different }
      if got < count {
        let gone = part.lowerBound + Int64(got)..<part.upperBound
        context.events.send(
          .warning(
            "The file of \(url) could not be read at byte \(gone.lowerBound) (\(file.path)); the "
              + "missing bytes are fetched again."))
        generation.lose(gone, of: file, size: (try? file.status())?.size)
        unreadable.insert(contentsOf: gone)
      }
    }
    return unreadable.isEmpty ? .same : .unreadable(unreadable)
  }
}
