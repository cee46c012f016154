// SPDX-License-Identifier: MIT
import Foundation

/// Where the bytes of a response go: to the file, or past it to the readers that are near.
struct ChunkSink: Sendable {
  let id: FetchID
  let generation: Generation
  /// Whether the next chunk is there already.
  var hasMore: (@Sendable () -> Bool)?

  private var entry: Entry { generation.entry }
  private var context: CacheContext { generation.entry.context }
  /// Names the resource in what is reported.
  private var url: String { entry.storage.url }

  enum Kept: Sendable {
    case kept
    /// What came again is not what came before: the origin has another generation.
    case changed
    /// It is another server's, and differs from what is stored, or cannot be compared with it.
    case differs
    /// It cannot be stored, and no reader is near that could do with it.
    case nowhere(MediaCacheError)
  }

  /// Keeps what of a chunk is missing. Blocks on the disk.
  func keep(_ chunk: Data, at offset: Int64) async -> Kept {
    let range = offset..<(offset + Int64(chunk.count))
    let (absent, isOver, isComparing) = generation.withState {
      state -> (RangeSet<Int64>, Bool, Bool) in
      guard let fetch = state.fetches[id], !state.isSuperseded, !state.isClosed else {
        return (RangeSet(), true, false)
      }
      // No further than asked for, or than this fetch was cut down to.
      let end = fetch.isCalledOff ? range.upperBound : fetch.range.upperBound
      let wanted = range.clamped(to: min(fetch.range.lowerBound, offset)..<end)
      return (RangeSet(wanted).subtracting(state.stored), false, fetch.isComparing)
    }
    if isOver { return .kept }
    var missing = absent
    if missing.byteCount < Int64(chunk.count) {
      let vouched = isComparing ? false : nil
      switch compare(chunk, range, except: missing, isVouched: vouched) {
      case .same: break
      // Bytes that cannot be read may have been given to a reader, and were not compared.
      case .different where isComparing, .unreadable where isComparing: return .differs
      case .different:
        entry.supersede(generation, isContradicted: true)
        return .changed
      case .unreadable(let gone): missing.formUnion(gone)
      }
    }
    for part in missing.ranges {
      let lower = chunk.startIndex + Int(part.lowerBound - offset)
      let bytes = chunk[lower..<(lower + Int(part.upperBound - part.lowerBound))]
      if await store(bytes, at: part) { continue }
      if isComparing { return .differs }
      if let problem = passOn(bytes, at: part.lowerBound) { return .nowhere(problem) }
    }
    generation.withState { $0.moveFetch(id, to: range.upperBound) }
    return .kept
  }

  // MARK: Storing

  private func store(_ bytes: Data, at range: ByteRange) async -> Bool {
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
        if hasRoom { return await storeAgain(bytes, at: range, file) }
      }
      await entry.storage.writeFailed(generation, error)
      return false
    }
    if settle(file, granted, name) { dropHoles(of: file) }
    let journal = commit(range, to: file)
    context.budget.settle(Self.journalBlock, actual: journal?.growth() ?? 0, for: name)
    await recordFirstBytes()
    return true
  }

  /// The file to write to, holding everything that was written to it. Somebody else may have cut it
  /// short: what is written beyond its end would leave a hole that reads as zeros, so that what was
  /// lost is given up first.
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
        "The file of \(url) was cut short by another program (\(file.path)); the rest is fetched "
          + "again."))
  }

  /// Gives up what lies in a hole of the file, which reads as zeros. Called when the file takes less
  /// space than before: another program may have cut it short between `wholeFile` and the write.
  ///
  /// A cut that frees no block, or less than the write itself took, cannot be seen.
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
      // The blocks on both sides are partly zeros: the cut cleared the rest of the one, and the
      // write filled the other from its own offset on.
      let gone = max(0, hole.lowerBound - Self.largestBlock)..<(hole.upperBound + Self.largestBlock)
      generation.lose(gone, of: file, size: nil)
    }
  }

  /// The largest block of a Linux file system, in bytes.
  private static let largestBlock: Int64 = 64 << 10

  /// What has no length, and could not be told from another stream, may be one without end: it is
  /// not to drive out all that is worth keeping.
  private func mayGrow(to end: Int64) -> Bool {
    let most = min(context.budget.limit.map { $0 / 4 } ?? .max, Self.mostOfUnrepeatable)
    return generation.withState { state in
      guard state.isUnrepeatable, end > most else { return true }
      state.storageBan = .forGood
      state.storageProblem = .endless
      state.isTransient = true
      return false
    }
  }

  private static let journalBlock: Int64 = 4096
  private static let mostOfUnrepeatable: Int64 = 1 << 30

  /// After room was made on a full disk.
  private func storeAgain(_ bytes: Data, at range: ByteRange, _ file: EntryFile) async -> Bool {
    do throws(DiskError) {
      try file.write(bytes, at: range.lowerBound)
    } catch {
      await entry.storage.writeFailed(generation, error)
      return false
    }
    if settle(file, 0, entry.name) { dropHoles(of: file) }
    let journal = commit(range, to: file)
    context.budget.settle(0, actual: journal?.growth() ?? 0, for: entry.name)
    await recordFirstBytes()
    return true
  }

  /// See `EntryStorage.recordFirstBytes`.
  private func recordFirstBytes() async {
    guard generation.withState(\.wantsRecord) else { return }
    await entry.storage.recordFirstBytes(generation)
  }

  /// See `EntryStorage.giveUpReplaced`.
  private func giveUpReplaced() async -> Bool {
    guard generation.withState({ $0.recordState == .replacing }) else { return false }
    return await entry.storage.giveUpReplaced(generation)
  }

  private func file() async -> EntryFile? {
    let (file, isBanned) = generation.withState { state in
      (
        state.isPrepared && !state.isTransient ? state.file : nil,
        state.storageBan.holds(at: .now)
      )
    }
    if let file { return file }
    if isBanned { return nil }
    return await entry.storage.prepare(generation)
  }

  private func reserve(_ bytes: Int64) async -> Bool {
    // Nothing goes for the sake of what could not be stored whole if all went: it is stored as far
    // as there is room.
    let mayEvict = generation.withState(\.length).map(context.budget.canHold) ?? true
    // Others may take what was made room for.
    for _ in 0..<4 {
      if case .granted = context.budget.reserve(bytes) { return true }
      // That may take a while: nobody is to wait for what is stored already.
      generation.perform { $0.announce(id) }
      guard mayEvict, await context.evictor.makeRoom(for: bytes) else { break }
    }
    if await giveUpReplaced(), case .granted = context.budget.reserve(bytes) { return true }
    return refuse()
  }

  /// Full to the limit with what is in use: looked at again soon.
  private func refuse() -> Bool {
    generation.withState { state in
      state.storageBan = .until(.now + .milliseconds(500))
      state.storageProblem = .noRoom
      state.isTransient = true
    }
    return false
  }

  /// After everything was written that the grant was for.
  ///
  /// - Returns: whether the file takes less than it did before.
  @discardableResult
  private func settle(_ file: EntryFile, _ granted: Int64, _ name: String) -> Bool {
    // Looked up under the lock, which takes a microsecond: two fetches must not tell in one order
    // what they saw in another.
    let (grown, spans) = generation.withState { state -> (Int64, Int64) in
      guard state.file === file, let allocated = (try? file.status())?.allocated else {
        return (granted, 0)
      }
      return state.account(allocated)
    }
    context.budget.settle(granted, actual: grown + spans, for: name)
    return grown < 0
  }

  /// - Returns: the journal that was written to.
  @discardableResult
  func commit(_ range: ByteRange, to file: EntryFile) -> JournalFile? {
    if generation.withState({ $0.keepPending(range, by: id, in: file) }) { return nil }
    let now = ContinuousClock.now
    // Waking a reader costs more than a chunk: where the next one is there, it is woken for both.
    let announces = hasMore?() != true
    let commit = generation.withCommit {
      $0.commit(id, range, to: file, announces: announces, now: now)
    }
    guard let (journal, syncDelay, defersRecord, actions) = commit else { return nil }
    generation.learnPace()
    generation.carryOut(actions)
    context.events.sendTraffic(.committed(entry.key, range))
    if let journal {
      do {
        try journal.file.write(journal.span, number: journal.number)
      } catch {
        // Lost is what a killed process would fetch again, nothing else.
        context.events.send(.warning("The journal of \(url) could not be written: \(error)."))
      }
    }
    if let syncDelay { entry.syncSoon(generation, after: syncDelay) }
    if defersRecord { entry.recordSoon(generation) }
    return journal?.file
  }

  // MARK: Passing on

  /// - Returns: why the bytes are of no use to anybody.
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
    /// These bytes cannot be read, which says nothing about them; they are given up.
    case unreadable(RangeSet<Int64>)
  }

  /// Compares what came again with what is stored. A validator that vouches for every byte makes that
  /// needless.
  ///
  /// - Parameter isVouched: whether it does; nil: where the generation's is strong.
  private func compare(
    _ chunk: Data, _ range: ByteRange, except missing: RangeSet<Int64>, isVouched: Bool?
  ) -> Comparison {
    let (file, stored, isStrong) = generation.withState {
      ($0.file, $0.stored, $0.validator.ifRange != nil)
    }
    guard !(isVouched ?? isStrong) else { return .same }
    guard let file else { return isVouched == nil ? .same : .different }
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
            "The file of \(url) could not be read at \(gone.lowerBound) (\(file.path)); it is "
              + "fetched again."))
        generation.lose(gone, of: file, size: (try? file.status())?.size)
        unreadable.insert(contentsOf: gone)
      }
    }
    return unreadable.isEmpty ? .same : .unreadable(unreadable)
  }
}

extension Generation {
  /// `GenerationState.commit`, its result split for use outside of the lock.
  func withCommit(
    _ body: (inout GenerationState) -> GenerationState.Commit?
  ) -> (
    journal: (file: JournalFile, number: Int, span: ByteRange)?, syncDelay: Duration?,
    defersRecord: Bool, actions: [GenerationState.Action]
  )? {
    guard let commit = withState(body) else { return nil }
    return (commit.journal, commit.syncDelay, commit.defersRecord, commit.actions)
  }
}
