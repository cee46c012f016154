// SPDX-License-Identifier: MIT
import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The files of an open entry: made when the first byte arrives, synced while bytes arrive, and
/// recorded when the last holder leaves. Calls are serialized. Called from tasks on `IOThreads`
/// only, because every method blocks.
actor EntryStorage {
  let directory: EntryDirectory
  let name: String
  let key: CacheKey
  /// The resource's URL in events and errors, without user and password.
  let url: String
  let evictor: Evictor
  let budget: DiskBudget
  let events: EventStreams
  /// Whether the cache serves several people.
  let isShared: Bool
  let policy: RecordedPolicy

  var lock: WriterLock?
  /// The files that are being written to.
  var open: WrittenFiles?

  /// Whether the entry's parent directories are known to survive a power cut.
  var isAnchored = false
  /// Whether room was reserved for the entry's overhead besides its data.
  var hasOverhead = false
  /// The size of the entry and its shard before anything was written to it, and the count by then
  /// (`DiskBudget.mark`); nil while it is not being written to.
  var sizeBefore: (bytes: Int64, mark: Int64)?
  /// Bytes of removed files that somebody still reads.
  var held: Int64 = 0
  /// The record's file as `noticeOthers` last found it.
  var seenRecord: FileStatus?

  struct WrittenFiles {
    var generation: Generation
    var id: String
    var fileName: String
    var epoch: Int
  }

  /// The pause after a failure to store.
  private static let retryPause: Duration = .seconds(5)

  /// - Parameter evictor: makes room for what is stored.
  init(
    name: String, key: CacheKey, url: URL, evictor: Evictor, events: EventStreams, isShared: Bool
  ) {
    self.url = url.withoutUserInfo.absoluteString
    budget = evictor.budget
    directory = budget.entryDirectory(named: name)
    self.name = name
    self.key = key
    (self.evictor, self.events, self.isShared) = (evictor, events, isShared)
    policy = RecordedPolicy(of: key)
  }

  /// Returns the state stored under the key; `empty` if nothing usable is stored.
  nonisolated func load(_ empty: GenerationState) -> GenerationState {
    var state = empty
    do throws(EntryDirectory.Problem) {
      let contents = try directory.load()
      // A stored generation that is not used is replaced by the new one.
      var replacing = empty
      replacing.storage.replace([contents.record.generation])
      guard contents.record.key == key.rawValue else {
        events.send(
          .warning(
            "The entry in \(directory.path) has another key than \(url) and is ignored."))
        return state
      }
      policy.adopt(contents.record)
      policy.adopt(keep: contents.keep)
      guard mayUse(contents.record) else { return replacing }
      state.adopt(contents)
      if contents.record.freshness.noStore { state.storage.ignoreNoStore() }
      // Left by a process that ended suddenly; a new generation replaces it.
      if state.isUnrepeatable { return replacing }
      if contents.isReadOnly {
        state.storage.forbid(.forGood, .readOnly)
      }
      for warning in contents.warnings { events.send(.warning(warning)) }
      budget.touch(name)
    } catch {
      switch error {
      case .empty: break
      case .newer(let version):
        state.storage.forbid(.forGood, .newerFormat)
        events.send(
          .warning(
            "A later version (\(version)) has stored \(url). The entry is left unchanged, and the "
              + "resource plays without being stored."))
      case .broken(let why):
        events.send(
          .warning("The entry of \(url) is ignored: \(why) (in \(directory.path))."))
      case .unreadable(let failure):
        events.send(.warning("The entry of \(url) cannot be read now: \(failure)."))
      }
    }
    return state
  }

  /// Prepares a generation's file for writing.
  ///
  /// - Returns: the file; nil if nothing can be stored now.
  func prepare(_ generation: Generation) async -> EntryFile? {
    let now = ContinuousClock.now
    let (file, isBanned) = generation.withState { state -> (EntryFile?, Bool) in
      if state.storage.ban.holds(at: now) { return (nil, true) }
      guard state.storage.isPrepared, let file = state.file else { return (nil, false) }
      state.storage.allow()
      return (file, false)
    }
    if isBanned { return nil }
    if let file { return file }
    guard await reserveOverhead(generation) else {
      ban(generation, .until(.now + .milliseconds(500)), .noRoom)
      return nil
    }
    do {
      return try begin(generation)
    } catch let error as DiskError where error.isNoSpace {
      // Directories and records need room, too.
      guard await evictor.free(1 << 20) > 0 else {
        refuse(generation, error)
        return nil
      }
      do {
        return try begin(generation)
      } catch {
        refuse(generation, error)
        return nil
      }
    } catch let error as DataLost {
      distrust(generation, error.reason)
      return nil
    } catch {
      refuse(generation, error)
      return nil
    }
  }

  private func reserveOverhead(_ generation: Generation) async -> Bool {
    // See `ChunkSink.reserve`.
    let mayEvict =
      generation.withState(\.length).map { budget.canHold($0, for: name) } ?? true
    for _ in 0..<4 where !hasOverhead {
      if budget.reserve(DiskBudget.overhead) {
        hasOverhead = true
      } else {
        guard mayEvict, await evictor.makeRoom(for: DiskBudget.overhead) else { break }
      }
    }
    return hasOverhead
  }

  /// Pins the entry; see `EntryDirectory.pin`.
  func pin() throws(DiskError) -> Bool { try directory.pin(isLocked: lock != nil) }

  /// Notes the size of the entry before anything is written to it.
  func noteSize() throws(DiskError) {
    if sizeBefore == nil { sizeBefore = (try budget.sizeWithShard(name), budget.mark()) }
  }

  /// Settles the size of the written files. Call it only while the lock is held, or if it was never
  /// taken.
  ///
  /// - Parameter isClosed: whether this process no longer reads removed files of the entry.
  func concludeSize(isClosed: Bool) {
    let released = isClosed ? held : 0
    guard hasOverhead || sizeBefore != nil || isClosed else { return }
    let size = try? budget.sizeWithShard(name)
    budget.conclude(
      name, overhead: hasOverhead ? DiskBudget.overhead : 0, held: released,
      growth: sizeBefore.map { before in size.map { $0 - before.bytes } } ?? 0,
      since: sizeBefore?.mark)
    held -= released
    hasOverhead = false
    sizeBefore = nil
  }

  func reportOutdated(_ error: any Error) {
    events.send(
      .warning("The entry of \(url) could not be updated: \(error)."))
  }

  func makeJournal(_ id: String, _ epoch: Int) throws(DiskError) -> JournalFile {
    let path = "\(directory.path)/\(SpanJournal.fileName(generation: id, epoch: epoch))"
    return try JournalFile(
      path: path, epoch: epoch, bootIdentity: directory.bootIdentity, disk: directory.disk)
  }

  func record(
    _ generation: Generation, _ files: WrittenFiles, spans: RangeSet<Int64>
  ) throws -> EntryRecord {
    let (known, validator) = generation.withState { ($0.known, $0.validator) }
    guard let known else {
      throw MediaCacheError(.storage, "No response for the resource has been received yet.")
    }
    let info = known.information
    return EntryRecord(
      key: key.rawValue, url: generation.entry.resource.url.withoutUserInfo.absoluteString,
      finalURL: info.finalURL.absoluteString, generation: files.id, file: files.fileName,
      length: info.length, mimeType: info.mimeType, supportsRanges: info.supportsRanges,
      validator: validator, freshness: known.freshness,
      headers: known.headers.fields.flatMap { [$0.name, $0.value] },
      variant: known.selection.variant,
      isSharable: isShared ? true : nil, invalidatedAt: known.invalidatedAt,
      group: policy.record(generation.entry.resource), spans: SpanList.encode(spans),
      epoch: files.epoch)
  }

  // MARK: Syncing

  /// Bytes of the data file may be lost: fsync(2) reports that only once.
  struct DataLost: Error {
    var reason: DiskError
  }

  /// Makes the bytes stored so far survive a power cut: data, then record, then the name.
  ///
  /// - Parameter isLast: whether nobody is left who could bring more.
  /// - Returns: the delay after which to call it again; nil for no earlier than the next bytes.
  @discardableResult
  func sync(_ generation: Generation, isLast: Bool = false) -> Duration? {
    guard let open, open.generation === generation else {
      _ = generation.withState { $0.storage.endSync(at: .now, isDone: false) }
      return nil
    }
    do {
      try writeDown(generation, isLast: isLast)
      return generation.withState { $0.storage.endSync(at: .now, isDone: true) }
    } catch let error as DataLost {
      distrust(generation, error.reason)
    } catch let error as DiskError where error.isMissing {
      vanish(generation)
    } catch {
      reportOutdated(error)
    }
    _ = generation.withState { $0.storage.endSync(at: .now, isDone: false) }
    return nil
  }

  /// Syncs the data and writes the record.
  ///
  /// - Parameter isLast: whether no more is expected; a later fetch prepares the files again.
  func writeDown(_ generation: Generation, isLast: Bool = false) throws {
    guard var files = open else { return }
    files.epoch += 1
    // Commits from here on go to the next journal. A crash before the record is replaced leaves the
    // old record and both journals; a crash after it, the new record and the next journal.
    let next = isLast ? nil : try makeJournal(files.id, files.epoch)
    let (stored, file, last, recordState) = generation.withState { state in
      let last = state.storage.journal
      state.storage.beginSync(at: .now, nextJournal: next)
      return (state.stored, state.file, last, state.storage.recordState)
    }
    open = files
    do throws(DiskError) {
      try file?.sync()
    } catch {
      throw DataLost(reason: error)
    }
    // A record must not replace another until its data file's name survives a power cut.
    if recordState == .replacing { try directory.disk.syncDirectory(directory.path) }
    try directory.write(record(generation, files, spans: stored), durably: true)
    if !isAnchored {
      try directory.syncParents()
      isAnchored = true
    }
    generation.withState { $0.storage.recordWritten(with: stored) }
    if recordState != .deferred || last != nil {
      try directory.removeJournals(of: files.id, before: files.epoch)
    }
    if recordState == .replacing { try removeOthers(than: [files.owner]) }
  }

  /// Stops using unsynced bytes after a failed sync: they may be gone from memory, too. They are
  /// neither claimed nor read any more, and nothing is written to this file until the entry is
  /// reopened.
  func distrust(_ generation: Generation, _ error: DiskError) {
    let recordState = recordState(of: generation)
    generation.withState { $0.storage.distrust(error) }
    events.send(.warning("Storing \(url) stopped: \(error)."))
    guard let files = open else { return }
    open = nil
    do {
      if recordState != .written { return try discard(files, recordState) }
      try directory.removeJournals(of: files.id, before: .max)
    } catch {
      reportOutdated(error)
    }
  }

  /// Resets the storage after another program has removed the entry's directory, which is made
  /// again when the next bytes arrive.
  func vanish(_ generation: Generation) {
    generation.withState { $0.storage.vanish() }
    events.send(
      .warning(
        "Another program removed the entry of \(url) (\(directory.path)); the resource is stored "
          + "again."))
    open = nil
    isAnchored = false
    concludeSize(isClosed: false)
    // The locked file may be gone, too.
    lock = nil
  }

  private func refuse(_ generation: Generation, _ error: any Error) {
    let failure = error as? DiskError
    ban(
      generation, .until(.now + Self.retryPause),
      failure.map { $0.isNoSpace ? .noRoom : $0.isRefused ? .readOnly : .disk($0) } ?? .noRoom)
    events.send(
      .warning("\(url) plays without being stored for now: \(error)."))
  }

  func ban(
    _ generation: Generation, _ ban: StoredBytes.Ban, _ problem: StorageProblem
  ) {
    generation.withState { $0.storage.forbid(ban, problem) }
  }

  /// Stops storing for `retryPause` after a failed write.
  func writeFailed(_ generation: Generation, _ error: any Error) {
    refuse(generation, error)
  }
}
