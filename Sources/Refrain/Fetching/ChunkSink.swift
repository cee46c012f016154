// SPDX-License-Identifier: MIT
import Foundation

/// Writes the bytes of a response to the file, or passes them directly to nearby readers.
struct ChunkSink: Sendable {
  let id: FetchID
  let generation: Generation
  /// Whether the next chunk has already arrived.
  let hasMore: (@Sendable () -> Bool)?
  var journalRun: JournalFile.Run?

  private var entry: Entry { generation.entry }
  private var events: EventStreams { entry.events }
  private var budget: DiskBudget { entry.storage.budget }
  private var url: String { entry.storage.url }

  /// Stores the missing bytes of a chunk; nil if the fetch goes on. Blocks on the disk.
  mutating func keep(_ chunk: Data, at offset: Int64) async -> Fetch.Outcome? {
    let range = offset..<(offset + Int64(chunk.count))
    guard var admission = await admit(range) else { return nil }
    switch isSame(chunk, range, admission) {
    case true?: break
    case false?:
      entry.supersede(generation, isContradicted: true)
      return .done
    case nil:
      // Those bytes are missing now, and the record has to drop them first.
      guard let again = await admit(range) else { return nil }
      admission = again
    }
    for part in admission.missing.ranges {
      let lower = chunk.startIndex + Int(part.lowerBound - offset)
      let bytes = chunk[lower..<(lower + Int(part.upperBound - part.lowerBound))]
      if await store(bytes, at: part, admission) { continue }
      admission.isPrepared = false
      let problem = generation.withState { state in
        state.commitTransient(id, bytes, at: part.lowerBound) ? nil : state.storageProblem
      }
      if let problem { return .onlyForPlayback(problem) }
    }
    if admission.missing.ranges.last?.upperBound != range.upperBound {
      // Readers may be due to be woken for earlier bytes.
      let announces = hasMore?() != true
      generation.withState { state in
        state.fetches.move(id, to: range.upperBound)
        if announces { state.announce(id) }
      }
    }
    return nil
  }

  /// Decides on a chunk; nil if the fetch is over. Drops lost bytes first: a write beyond the end
  /// of a file that another program has cut short would leave a hole that reads as zeros.
  private func admit(_ range: ByteRange) async -> GenerationState.Admission? {
    attempts: for _ in 0..<5 {
      let decision = generation.withState { $0.admit(id, range) }
      guard let admission = decision, let end = admission.missing.ranges.last?.upperBound,
        !admission.isRefused
      else { return decision }
      // A stream that may have no end must not evict everything else.
      if admission.isUnrepeatable, end > min(budget.limit ?? .max, 4 << 30) / 4 {
        generation.withState { $0.storage.refuse(.endless) }
        break
      }
      guard admission.isPrepared, let file = admission.file else {
        if await entry.storage.prepare(generation) == nil { break }
        continue
      }
      do throws(DiskError) {
        let size = try file.status().size
        if size >= admission.storedEnd { return admission }
        reportCut(file)
        generation.lose(size..<admission.storedEnd, of: file)
      } catch {
        await entry.storage.writeFailed(generation, error)
        break attempts
      }
    }
    var admission = generation.withState { $0.admit(id, range) }
    admission?.isPrepared = false
    return admission
  }

  // MARK: The file

  /// Returns what the generation's file, and its record, have grown since they were last measured;
  /// nil if it has another file by now. Under the lock, for a microsecond: two fetches must report
  /// sizes in the order in which they saw them.
  private static func growth(
    _ state: inout GenerationState, of file: EntryFile
  ) -> (file: Int64, record: Int64)? {
    guard file === state.file, let status = try? file.status() else { return nil }
    return state.storage.account(status.allocated)
  }

  /// Settles room that was reserved for a write, by what the file has grown. If it uses less disk
  /// space than before, another program may have cut it short between `admit` and the write: if
  /// stored bytes lie in a hole, which reads as zeros, all are dropped, because the blocks beside it
  /// are partly zeros. A cut that frees no block, or less than the write itself allocated, cannot be
  /// detected.
  private func settle(
    _ room: Int64, by growth: (file: Int64, record: Int64)?, of file: EntryFile
  ) {
    budget.settle(room, actual: growth.map { $0.file + $0.record } ?? room, for: entry.name)
    guard let growth, growth.file < 0 else { return }
    // Before the look at the file, which others write to. What cannot be looked at is as it was.
    let stored = generation.withState(\.stored)
    guard let holes = try? file.holes(), !stored.intersection(holes).isEmpty else { return }
    reportCut(file)
    generation.lose(0..<Int64.max, of: file)
  }

  private func reportCut(_ file: EntryFile) {
    events.send(
      .warning(
        "Another program truncated the file of \(url) (\(file.path)); what is lost is fetched again."
      ))
  }

  // MARK: Storing

  /// Writes bytes; once more if there was no room on the disk, and some could be made.
  private mutating func store(
    _ bytes: Data, at range: ByteRange, _ admission: GenerationState.Admission
  ) async -> Bool {
    guard admission.isPrepared, let file = admission.file else { return false }
    // Blocks at either end may be new.
    let room = Int64(bytes.count) + 8192
    for isLast in [false, true] {
      guard await reserve(room) else { return false }
      do throws(DiskError) {
        try file.write(bytes, at: range.lowerBound)
        await commit(range, to: file, room, isExamined: admission.mayBeDocument)
        return true
      } catch {
        // Part of the bytes may have been written.
        settle(room, by: generation.withState { Self.growth(&$0, of: file) }, of: file)
        if !isLast, error.isNoSpace {
          generation.withState { $0.announce(id) }
          if await entry.storage.evictor.free(max(Int64(bytes.count), 8 << 20)) > 0 { continue }
        }
        await entry.storage.writeFailed(generation, error)
        return false
      }
    }
    return false
  }

  private func reserve(_ bytes: Int64) async -> Bool {
    let isReserved = await entry.storage.evictor.reserve(
      bytes, for: entry.name, length: generation.withState(\.length)
    ) { [generation, id] in
      // Nobody should wait for bytes that are already stored.
      generation.withState { $0.announce(id) }
    }
    // Entries in use fill the limit; retried soon.
    if !isReserved { generation.refuse(.noRoom, for: .milliseconds(500)) }
    return isReserved
  }

  /// Commits written bytes, for which `room` was reserved.
  private mutating func commit(
    _ range: ByteRange, to file: EntryFile, _ room: Int64, isExamined: Bool
  ) async {
    if isExamined { generation.learnPace(with: (range, file)) }
    let now = ContinuousClock.now
    // Waking a reader costs more than a chunk: if the next one has arrived, one wake serves both.
    let announces = hasMore?() != true
    let commit = { [id] (state: inout GenerationState) in
      state.commit(id, range, to: file, announces: announces, now: now)
    }
    var (growth, outcome) = generation.withState { state in
      let growth = Self.growth(&state, of: file)
      return (growth, growth.map { $0.file < 0 } == true ? nil : commit(&state))
    }
    settle(room, by: growth, of: file)
    // Only now: nobody reads what was dropped.
    if let growth, growth.file < 0 { outcome = generation.withState(commit) }
    guard let commit = outcome else { return }
    events.sendTraffic(.committed(entry.key, range))
    do {
      let run = commit.journal?.run(for: range, after: journalRun)
      try run?.write()
      journalRun = run
    } catch {
      // Only a killed process loses by this: it would fetch the range again.
      events.send(.warning("The journal of \(url) could not be written: \(error)."))
    }
    if let delay = commit.syncDelay { entry.syncSoon(generation, after: delay) }
  }

  // MARK: Comparing

  /// Compares bytes received again with the stored ones, unless a validator vouches for every byte;
  /// nil if some could not be read, and were dropped.
  private func isSame(
    _ chunk: Data, _ range: ByteRange, _ admission: GenerationState.Admission
  ) -> Bool? {
    guard !admission.unproven.isEmpty, let file = admission.file else { return true }
    var isUnreadable = false
    for part in admission.unproven.ranges {
      var buffer = [UInt8](repeating: 0, count: part.count)
      let got = buffer.withUnsafeMutableBytes { file.copy(into: $0, at: part.lowerBound) } ?? 0
      let lower = chunk.startIndex + Int(part.lowerBound - range.lowerBound)
      guard chunk[lower..<(lower + got)].elementsEqual(buffer[..<got]) else { return false }
      if got < part.count {
        let gone = part.lowerBound + Int64(got)..<part.upperBound
        events.send(
          .warning(
            "The file of \(url) could not be read at byte \(gone.lowerBound) (\(file.path)); the "
              + "missing bytes are fetched again."))
        generation.lose(gone, of: file)
        isUnreadable = true
      }
    }
    return isUnreadable ? nil : true
  }
}
