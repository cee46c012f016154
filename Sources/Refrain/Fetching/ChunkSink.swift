// SPDX-License-Identifier: MIT
import Foundation

/// Writes the bytes of a response to the file, or passes them directly to nearby readers.
struct ChunkSink: Sendable {
  let id: FetchID
  let generation: Generation
  /// Whether the next chunk has already arrived.
  let hasMore: (@Sendable () -> Bool)?

  private var entry: Entry { generation.entry }
  private var events: EventStreams { entry.events }
  private var budget: DiskBudget { entry.storage.budget }
  private var url: String { entry.storage.url }

  /// Stores the missing bytes of a chunk; nil if the fetch goes on. Blocks on the disk.
  func keep(_ chunk: Data, at offset: Int64) async -> Fetch.Outcome? {
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
      let (decision, measured) = generation.withState { state in
        let admission = state.admit(id, range)
        let isForFile = admission.map { $0.isPrepared && !$0.missing.isEmpty } == true
        return (admission, isForFile ? Self.measure(&state) : nil)
      }
      let hasLost = measured != nil && settle(0, by: measured)
      guard let admission = decision else { return nil }
      guard let end = admission.missing.ranges.last?.upperBound, !admission.isRefused else {
        return admission
      }
      // A stream that may have no end must not evict everything else.
      if admission.isUnrepeatable, end > min(budget.limit ?? .max, 4 << 30) / 4 {
        generation.withState { $0.storage.refuse(.endless) }
        break
      }
      switch measured {
      case nil:
        if await entry.storage.prepare(generation) == nil { break attempts }
      case .success(let found)? where found.size < admission.storedEnd:
        reportCut(found.file)
        generation.lose(found.size..<admission.storedEnd, of: found.file)
      case .success?:
        if !hasLost { return admission }
      case .failure(let error)?:
        await entry.storage.writeFailed(generation, error)
        break attempts
      }
    }
    var admission = generation.withState { $0.admit(id, range) }
    admission?.isPrepared = false
    return admission
  }

  // MARK: The file

  private struct Measured: Sendable {
    let file: EntryFile
    var size: Int64
    /// Since the file was last measured.
    var growth: (file: Int64, record: Int64)
  }

  /// Measures the generation's file; nil if it has none, or not the expected one. Under the lock,
  /// for a microsecond: two fetches must report sizes in the order in which they saw them.
  private static func measure(
    _ state: inout GenerationState, _ expected: EntryFile? = nil
  ) -> Result<Measured, DiskError>? {
    guard let file = state.file, file === expected ?? file else { return nil }
    do throws(DiskError) {
      let status = try file.status()
      let growth = state.storage.account(status.allocated)
      return .success(Measured(file: file, size: status.size, growth: growth))
    } catch {
      return .failure(error)
    }
  }

  /// Settles room that was reserved for a write, by what the file has grown, and returns whether it
  /// may have been cut: if it uses less disk space than before, another program may have cut it
  /// short between `admit` and the write. What lies in a hole, which reads as zeros, is dropped. A
  /// cut that frees no block, or less than the write itself allocated, cannot be detected.
  private func settle(_ room: Int64, by measured: Result<Measured, DiskError>?) -> Bool {
    guard case .success(let found)? = measured else {
      budget.settle(room, actual: room, for: entry.name)
      return false
    }
    budget.settle(room, actual: found.growth.file + found.growth.record, for: entry.name)
    guard found.growth.file < 0 else { return false }
    // What cannot be looked at is as it was.
    let holes = (try? found.file.holes()) ?? RangeSet()
    let stored = generation.withState(\.stored)
    for hole in holes.ranges where !stored.intersection(RangeSet(hole)).isEmpty {
      reportCut(found.file)
      // The blocks on both sides, of 64 KiB at most, are partly zeros: the cut cleared the end of the
      // one, and the write filled the other only from its own offset on.
      let gone = max(0, hole.lowerBound - 65_536)..<(hole.upperBound + 65_536)
      generation.lose(gone, of: found.file)
    }
    return true
  }

  private func reportCut(_ file: EntryFile) {
    events.send(
      .warning(
        "Another program truncated the file of \(url) (\(file.path)); the rest is fetched again."))
  }

  // MARK: Storing

  /// Writes bytes; once more if there was no room on the disk, and some could be made.
  private func store(
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
        _ = settle(room, by: generation.withState { Self.measure(&$0, file) })
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
    if isReserved { return true }
    // Entries in use fill the limit; retried soon.
    generation.refuse(.noRoom, for: .milliseconds(500))
    return false
  }

  /// Commits written bytes, for which `room` was reserved.
  private func commit(
    _ range: ByteRange, to file: EntryFile, _ room: Int64, isExamined: Bool
  ) async {
    let isKnown = !isExamined || generation.learnPace(with: (range, file))
    let now = ContinuousClock.now
    // Waking a reader costs more than a chunk: if the next one has arrived, one wake serves both.
    let announces = hasMore?() != true
    let commit = { [id] (state: inout GenerationState) in
      state.commit(id, range, to: file, announces: announces, now: now)
    }
    var (measured, outcome) = generation.withState { state in
      let measured = Self.measure(&state, file)
      let mayBeCut =
        if case .success(let found)? = measured { found.growth.file < 0 } else { false }
      return (measured, mayBeCut ? nil : commit(&state))
    }
    // Before anybody reads what may be zeros.
    if settle(room, by: measured) { outcome = generation.withState(commit) }
    guard let commit = outcome else { return }
    // Two fetches may have completed the resource together.
    if !isKnown { generation.learnPace() }
    events.sendTraffic(.committed(entry.key, range))
    do {
      try commit.journal?.write()
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
    var buffer = [UInt8](repeating: 0, count: chunk.count)
    for part in admission.unproven.ranges {
      let count = Int(part.upperBound - part.lowerBound)
      let read = buffer.withUnsafeMutableBytes { buffer in
        file.copy(
          into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), at: part.lowerBound)
      }
      let got = read ?? 0
      let lower = chunk.startIndex + Int(part.lowerBound - range.lowerBound)
      guard chunk[lower..<(lower + got)].elementsEqual(buffer[..<got]) else { return false }
      if got < count {
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
