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
  private var budget: DiskBudget { entry.storage.budget }

  /// Stores the missing bytes of a chunk; nil if the fetch goes on. Blocks on the disk.
  mutating func keep(_ chunk: Data, at offset: Int64) async -> Fetch.Outcome? {
    let range = offset..<(offset + Int64(chunk.count))
    guard var admission = await admit(chunk, range) else { return .done }
    for part in admission.missing.ranges {
      let lower = chunk.startIndex + Int(part.lowerBound - offset)
      let bytes = chunk[lower..<(lower + Int(part.upperBound - part.lowerBound))]
      if await store(bytes, at: part, admission) { continue }
      admission.isPrepared = false
      let problem = generation.withState { state in
        state.commitTransient(id, bytes, at: part.lowerBound) ? nil : state.storageProblem
      }
      if let problem { return .failed(problem, isForBackground: true) }
    }
    if admission.missing.ranges.last?.upperBound != range.upperBound {
      generation.withState { state in
        state.fetches.move(id, to: range.upperBound)
        // Readers may be due to be woken for earlier bytes.
        state.announce(id)
      }
    }
    return nil
  }

  /// Decides on a chunk; nil if the fetch is over. Drops lost bytes first: a write beyond the end
  /// of a file that another program has cut short would leave a hole that reads as zeros.
  private func admit(
    _ chunk: Data, _ range: ByteRange
  ) async -> GenerationState.Admission? {
    for attempt in 0..<6 {
      let decision = generation.withState { $0.admit(id, range) }
      guard var admission = decision else { return nil }
      guard let isSame = isSame(chunk, range, admission) else { continue }
      if !isSame {
        entry.supersede(generation, isContradicted: true)
        return nil
      }
      guard let end = admission.missing.ranges.last?.upperBound, !admission.isRefused else {
        return admission
      }
      if attempt == 5 {
        admission.isPrepared = false
        return admission
      }
      if admission.isUnrepeatable, end > min(budget.limit ?? .max, 4 << 30) / 4 {
        // A stream that may have no end must not evict everything else.
        generation.withState { $0.storage.refuse(.endless) }
      } else if admission.isPrepared, let file = admission.file {
        do throws(DiskError) {
          let size = try file.status().size
          if size >= admission.storedEnd { return admission }
          generation.lose(size..<admission.storedEnd, of: file)
        } catch {
          await entry.storage.writeFailed(generation, error)
        }
      } else {
        _ = await entry.storage.prepare(generation)
      }
    }
    return nil
  }

  /// Settles room reserved for a write by what the file and the record have grown, and carries out
  /// `commit`. If the file uses less disk space than before, another program may have cut it short
  /// since `admit`: if stored bytes lie in a hole, which reads as zeros, all are dropped before.
  private func settle(
    _ room: Int64, of file: EntryFile,
    _ commit: (inout GenerationState) -> GenerationState.Commit? = { _ in nil }
  ) -> GenerationState.Commit? {
    let (growth, outcome) = generation.withState { state in
      // Under the lock: two fetches must report sizes in the order in which they saw them.
      let status = file === state.file ? try? file.status() : nil
      let growth = status.map { state.storage.account($0.allocated) }
      return (growth, growth?.file ?? 0 < 0 ? nil : commit(&state))
    }
    budget.settle(room, actual: growth.map { $0.file + $0.record } ?? room, for: entry.name)
    guard let growth, growth.file < 0 else { return outcome }
    // Before the look at the file, which others write to.
    let stored = generation.withState(\.stored)
    if let holes = try? file.holes(), !stored.intersection(holes).isEmpty {
      generation.lose(0..<Int64.max, of: file)
    }
    return generation.withState(commit)
  }

  /// Writes bytes; once more if there was no room on the disk, and some could be made.
  private mutating func store(
    _ bytes: Data, at range: ByteRange, _ admission: GenerationState.Admission
  ) async -> Bool {
    guard admission.isPrepared, let file = admission.file else { return false }
    // Blocks at either end may be new.
    let room = Int64(bytes.count) + 8192
    for isLast in [false, true] {
      guard await entry.storage.evictor.reserve(room, for: generation) else {
        // Entries in use fill the limit; retried soon.
        generation.refuse(.noRoom, for: .milliseconds(500))
        return false
      }
      do throws(DiskError) {
        try file.write(bytes, at: range.lowerBound)
        await commit(range, to: file, room, isExamined: admission.mayBeDocument)
        return true
      } catch {
        // Part of the bytes may have been written.
        _ = settle(room, of: file)
        if !isLast, error.isNoSpace,
          await entry.storage.evictor.free(max(Int64(bytes.count), 8 << 20)) > 0
        {
          continue
        }
        await entry.storage.writeFailed(generation, error)
        return false
      }
    }
    return false
  }

  /// Commits written bytes, for which `room` was reserved.
  private mutating func commit(
    _ range: ByteRange, to file: EntryFile, _ room: Int64, isExamined: Bool
  ) async {
    if isExamined { generation.learnPace(with: range) }
    let now = ContinuousClock.now
    // Waking a reader costs more than a chunk: if the next one has arrived, one wake serves both.
    let announces = hasMore?() != true
    let commit = settle(room, of: file) { [id] state in
      state.commit(id, range, to: file, announces: announces, now: now)
    }
    guard let commit else { return }
    entry.events.sendTraffic(.committed(entry.key, range))
    do {
      let run = commit.journal?.run(for: range, after: journalRun)
      try run?.write()
      journalRun = run
    } catch {
      // Only a killed process loses by this: it would fetch the range again.
      entry.events.send(
        .warning("The journal of \(entry.storage.url) could not be written: \(error)."))
    }
    if let delay = commit.syncDelay { entry.syncSoon(generation, after: delay) }
  }

  /// Compares bytes received again with stored ones for which no validator vouches; nil if some
  /// could not be read, and were dropped.
  private func isSame(
    _ chunk: Data, _ range: ByteRange, _ admission: GenerationState.Admission
  ) -> Bool? {
    guard !admission.unproven.isEmpty, let file = admission.file else { return true }
    for part in admission.unproven.ranges {
      var buffer = [UInt8](repeating: 0, count: part.count)
      let got = buffer.withUnsafeMutableBytes { file.copy(into: $0, at: part.lowerBound) } ?? 0
      let lower = chunk.startIndex + Int(part.lowerBound - range.lowerBound)
      guard chunk[lower..<(lower + got)].elementsEqual(buffer[..<got]) else { return false }
      guard got == part.count else {
        generation.lose(part.lowerBound + Int64(got)..<part.upperBound, of: file)
        return nil
      }
    }
    return true
  }
}
