// SPDX-License-Identifier: MIT
import Foundation

/// Writes the bytes of a response to the file, or passes them directly to nearby readers.
struct ChunkSink: Sendable {
  let id: FetchID
  let generation: Generation
  /// Whether the next chunk has already arrived.
  var hasMore: (@Sendable () -> Bool)?
  /// The room granted for bytes that were written since the file was last measured.
  private var granted: Int64 = 0
  /// The growth of the journal since then.
  private var journaled: Int64 = 0

  init(id: FetchID, generation: Generation, hasMore: (@Sendable () -> Bool)?) {
    (self.id, self.generation, self.hasMore) = (id, generation, hasMore)
  }

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
  mutating func keep(_ chunk: Data, at offset: Int64) async -> Kept {
    let range = offset..<(offset + Int64(chunk.count))
    guard var admission = await admit(range) else { return .kept }
    switch compare(chunk, range, admission) {
    case .same: break
    case .different:
      entry.supersede(generation, isContradicted: true)
      return .changed
    case .unreadable(let gone): admission.missing.formUnion(gone)
    }
    for part in admission.missing.ranges {
      let lower = chunk.startIndex + Int(part.lowerBound - offset)
      let bytes = chunk[lower..<(lower + Int(part.upperBound - part.lowerBound))]
      if await store(bytes, at: part, admission) { continue }
      if let problem = passOn(bytes, at: part.lowerBound) { return .nowhere(problem) }
    }
    if admission.missing.ranges.last?.upperBound != range.upperBound {
      // Readers may be due to be told of earlier bytes with these, of which none had to be stored.
      let announces = admission.missing.isEmpty && hasMore?() != true
      generation.perform { state in
        state.moveFetch(id, to: range.upperBound)
        return announces ? state.announce(id) : []
      }
    }
    return .kept
  }

  // MARK: The file

  /// Decides on a chunk, with a file that holds everything that was written to it. Another program may
  /// have cut it short: a write beyond its end would leave a hole that reads as zeros, so lost bytes
  /// are dropped first.
  ///
  /// - Returns: nil if the fetch is over.
  private mutating func admit(_ range: ByteRange) async -> GenerationState.Admission? {
    for _ in 0..<3 {
      // Under the lock, which takes a microsecond: two fetches must not report sizes in another order
      // than they saw them.
      let (admission, measured) = generation.withState { state in
        let admission = state.admit(id, range)
        return (admission, admission?.isPrepared == true ? Self.measure(&state) : nil)
      }
      guard var admission else { return nil }
      switch measured {
      case .failure(let error)?:
        await entry.storage.writeFailed(generation, error)
        admission.refuse()
        return admission
      case .success(let measured)? where settle(measured): continue
      default: return admission
      }
    }
    var admission = generation.withState { $0.admit(id, range) }
    admission?.refuse()
    return admission
  }

  /// The size of the file, and what was written to it.
  private struct Measured: Sendable {
    var file: EntryFile
    /// Its growth, and that of the record, since it was last measured.
    var growth: Int64
    /// The bytes that were written to it, and lie beyond its end.
    var cut: ByteRange?
    var isSmaller: Bool
  }

  private static func measure(
    _ state: inout GenerationState
  ) -> Result<Measured, DiskError>? {
    guard let file = state.file else { return nil }
    do throws(DiskError) {
      let status = try file.status()
      let (grown, recorded) = state.storage.account(status.allocated)
      let end = state.stored.ranges.last?.upperBound ?? 0
      return .success(
        Measured(
          file: file, growth: grown + recorded, cut: status.size < end ? status.size..<end : nil,
          isSmaller: grown < 0))
    } catch {
      return .failure(error)
    }
  }

  /// Settles what was granted for the bytes written so far, and drops those that another program has
  /// cut off.
  ///
  /// - Returns: whether bytes were dropped.
  private mutating func settle(_ measured: Measured) -> Bool {
    context.budget.settle(granted, actual: measured.growth + journaled, for: entry.name)
    (granted, journaled) = (0, 0)
    if let cut = measured.cut {
      reportCut(measured.file)
      generation.lose(cut, of: measured.file, size: cut.lowerBound)
      return true
    }
    return measured.isSmaller && dropHoles(of: measured.file)
  }

  /// Settles what was granted for the bytes written so far. Call it after the last one, and before a
  /// pause.
  mutating func settle() {
    guard granted > 0 else { return }
    let measured = generation.withState { $0.storage.isPrepared ? Self.measure(&$0) : nil }
    if case .success(let measured)? = measured {
      _ = settle(measured)
    } else {
      context.budget.settle(granted, actual: granted + journaled, for: entry.name)
      (granted, journaled) = (0, 0)
    }
  }

  private func reportCut(_ file: EntryFile) {
    context.events.send(
      .warning(
        "Another program truncated the file of \(url) (\(file.path)); the rest is fetched again."))
  }

  /// Drops bytes that lie in a hole of the file, which reads as zeros. Called when the file uses
  /// less disk space than before: another program may have cut it short just before a write.
  ///
  /// A cut that frees no block, or less than the write itself allocated, cannot be detected.
  ///
  /// - Returns: whether there were any.
  private func dropHoles(of file: EntryFile) -> Bool {
    let holes: RangeSet<Int64>
    do throws(DiskError) {
      holes = try file.holes()
    } catch {
      return false
    }
    let stored = generation.withState(\.stored)
    let hit = holes.ranges.filter { !stored.intersection(RangeSet($0)).isEmpty }
    for hole in hit {
      reportCut(file)
      // The blocks on both sides are partly zeros: the cut cleared the end of the one, and the
      // write filled the other only from its own offset on.
      let gone = max(0, hole.lowerBound - Self.largestBlock)..<(hole.upperBound + Self.largestBlock)
      generation.lose(gone, of: file, size: nil)
    }
    return !hit.isEmpty
  }

  /// The largest block of a Linux file system, in bytes.
  private static let largestBlock: Int64 = 64 << 10

  // MARK: Storing

  private mutating func store(
    _ bytes: Data, at range: ByteRange, _ admission: GenerationState.Admission
  ) async -> Bool {
    if admission.isUnrepeatable, !mayGrow(to: range.upperBound) { return false }
    var file = admission.isPrepared ? admission.file : nil
    if file == nil, !admission.isBanned { file = await entry.storage.prepare(generation) }
    // Blocks at either end may be new, and one of the journal.
    guard let file, await reserve(Int64(bytes.count) + 8192 + Self.journalBlock),
      await write(bytes, at: range, to: file)
    else { return false }
    await commit(range, to: file, isExamined: admission.mayBeDocument)
    return true
  }

  private static let journalBlock: Int64 = 4096

  /// Whether the file may grow. A stream without length, ranges and validator may be endless: it
  /// must not evict everything else.
  private func mayGrow(to end: Int64) -> Bool {
    let most = min(context.budget.limit.map { $0 / 4 } ?? .max, Self.mostOfUnrepeatable)
    if end > most { generation.withState { $0.storage.forbid(.forGood, .endless) } }
    return end <= most
  }

  private static let mostOfUnrepeatable: Int64 = 1 << 30

  private mutating func reserve(_ bytes: Int64) async -> Bool {
    if take(bytes) { return true }
    // Nothing is evicted for a resource that would not fit in the limit beside pinned entries: it
    // is stored as far as there is room.
    let mayEvict =
      generation.withState(\.length).map { context.budget.canHold($0, for: entry.name) } ?? true
    // Others may take the room that was made.
    for _ in 0..<4 {
      // Eviction may take a while: nobody should wait for bytes that are already stored.
      generation.perform { $0.announce(id) }
      guard mayEvict, await context.evictor.makeRoom(for: bytes) else { break }
      if take(bytes) { return true }
    }
    if await giveUpReplaced(), take(bytes) { return true }
    // Entries in use fill the limit; retried soon.
    generation.withState { $0.storage.forbid(.until(.now + .milliseconds(500)), .noRoom) }
    return false
  }

  private mutating func take(_ bytes: Int64) -> Bool {
    guard case .granted = context.budget.reserve(bytes) else { return false }
    granted += bytes
    return true
  }

  /// Writes bytes; once more if there was no room on the disk, and some could be made.
  private mutating func write(
    _ bytes: Data, at range: ByteRange, to file: EntryFile
  ) async -> Bool {
    var hasMadeRoom = false
    while true {
      do throws(DiskError) {
        try file.write(bytes, at: range.lowerBound)
        return true
      } catch {
        settle()
        if error.isNoSpace, !hasMadeRoom {
          generation.perform { $0.announce(id) }
          hasMadeRoom = await context.evictor.free(max(Int64(bytes.count), 8 << 20)) > 0
          if !hasMadeRoom { hasMadeRoom = await giveUpReplaced() }
          if hasMadeRoom { continue }
        }
        await entry.storage.writeFailed(generation, error)
        return false
      }
    }
  }

  /// See `EntryStorage.giveUpReplaced`.
  private func giveUpReplaced() async -> Bool {
    guard generation.withState({ $0.storage.recordState == .replacing }) else { return false }
    return await entry.storage.giveUpReplaced(generation)
  }

  private mutating func commit(_ range: ByteRange, to file: EntryFile, isExamined: Bool) async {
    let isKnown = !isExamined || generation.learnPace(with: (range, file))
    let now = ContinuousClock.now
    // Waking a reader costs more than a chunk: if the next one has arrived, one wake serves both.
    let announces = hasMore?() != true
    let commit = generation.withState {
      $0.commit(id, range, to: file, announces: announces, now: now)
    }
    guard let commit else { return }
    // Two fetches may have completed the resource together.
    if !isKnown { generation.learnPace() }
    generation.carryOut(commit.actions)
    context.events.sendTraffic(.committed(entry.key, range))
    if let (journal, number, span) = commit.journal {
      do {
        try journal.write(span, number: number)
      } catch {
        // Only a killed process loses by this: it would fetch the range again.
        context.events.send(.warning("The journal of \(url) could not be written: \(error)."))
      }
      journaled += journal.growth(upTo: number)
    }
    if let delay = commit.syncDelay { entry.syncSoon(generation, after: delay) }
    if commit.defersRecord { entry.recordSoon(generation) }
    if commit.wantsRecord { await entry.storage.recordFirstBytes(generation) }
  }

  // MARK: Passing on

  /// - Returns: why nobody can use the bytes; nil if they were passed on.
  private func passOn(_ bytes: Data, at offset: Int64) -> MediaCacheError? {
    generation.perform { state in
      guard state.isOfUse(id, from: offset) else { return (state.storageProblem.error, []) }
      return (nil, state.commitTransient(id, bytes, at: offset))
    }
  }

  // MARK: Comparing

  private enum Comparison {
    case same
    case different
    /// These bytes cannot be read, so that nothing is known of them; they are dropped.
    case unreadable(RangeSet<Int64>)
  }

  /// Compares bytes received again with the stored ones, unless a validator vouches for every byte.
  private func compare(
    _ chunk: Data, _ range: ByteRange, _ admission: GenerationState.Admission
  ) -> Comparison {
    guard !admission.unproven.isEmpty, let file = admission.file else { return .same }
    var unreadable = RangeSet<Int64>()
    var buffer = [UInt8](repeating: 0, count: chunk.count)
    for part in admission.unproven.ranges {
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
