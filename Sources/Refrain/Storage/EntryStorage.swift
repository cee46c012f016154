// SPDX-License-Identifier: MIT
import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The files of an open entry: made when the first byte comes, synced while bytes come, written down
/// when the last holder lets go. One thing at a time; called from tasks on `IOThreads` only, for all
/// of it blocks.
actor EntryStorage {
  private let directory: EntryDirectory
  private let name: String
  private let key: CacheKey
  private let context: CacheContext

  private var lock: WriterLock?
  /// What is being written to at the moment.
  private var open: OpenFiles?

  /// Whether the names on the way to the entry are known to survive a power cut.
  private var isAnchored = false
  /// Whether room was asked for what the entry takes besides its data.
  private var hasOverhead = false

  private struct OpenFiles {
    var generation: Generation
    var id: String
    var fileName: String
    var epoch: Int
  }

  /// After a failure to store, nothing is tried for this long.
  private static let retryPause: Duration = .seconds(5)

  init(directory: EntryDirectory, name: String, key: CacheKey, context: CacheContext) {
    self.directory = directory
    self.name = name
    self.key = key
    self.context = context
  }

  /// What is stored under the key; `empty` where nothing is, or nothing that can be used.
  nonisolated func load(_ empty: GenerationState) -> GenerationState {
    var state = empty
    do throws(EntryDirectory.Problem) {
      let contents = try directory.load()
      guard contents.record.key == key.rawValue else {
        context.events.send(.warning("\(directory.path) holds another key than \(key)."))
        return state
      }
      // Kept for one person: what was sent to her may be for nobody else.
      if context.configuration.isShared, contents.record.isSharable != true { return state }
      state.adopt(contents)
      // Left behind by a process that ended suddenly; what is begun now takes its place.
      if state.isUnrepeatable { return empty }
      for warning in contents.warnings { context.events.send(.warning(warning)) }
      context.store.touch(name)
    } catch {
      switch error {
      case .empty: break
      case .newer(let version):
        state.storageBan = .forGood
        state.isTransient = true
        context.events.send(
          .warning(
            "\(directory.path) was written by a later version (\(version)); it is left alone, and "
              + "\(key) is played without being stored."))
      case .broken(let why):
        context.events.send(.warning("\(directory.path) is not used: \(why)."))
      case .unreadable(let failure):
        context.events.send(.warning("\(directory.path) cannot be read now: \(failure)."))
      }
    }
    return state
  }

  /// Makes a generation's file ready to be written to.
  ///
  /// - Returns: the file; nil where nothing can be stored now.
  func prepare(_ generation: Generation) async -> EntryFile? {
    let now = ContinuousClock.now
    let (file, isBanned) = generation.withState { state -> (EntryFile?, Bool) in
      if state.storageBan.holds(at: now) { return (nil, true) }
      guard state.journal != nil, let file = state.file else { return (nil, false) }
      state.storageBan = .none
      state.isTransient = false
      return (file, false)
    }
    if isBanned { return nil }
    if let file { return file }
    guard await reserveOverhead() else {
      ban(generation, .until(.now + .milliseconds(500)))
      return nil
    }
    do {
      return try begin(generation)
    } catch let error as DiskError where error.isNoSpace {
      // Directories and records need room, too.
      guard await context.evictor.free(1 << 20) > 0 else {
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

  private func reserveOverhead() async -> Bool {
    for _ in 0..<4 where !hasOverhead {
      if case .granted = context.store.reserve(Store.overhead, for: name) {
        hasOverhead = true
      } else if await !context.evictor.makeRoom(for: Store.overhead) {
        break
      }
    }
    return hasOverhead
  }

  private func begin(_ generation: Generation) throws -> EntryFile? {
    // Another fetch may have come first while room was made.
    let ready = generation.withState { $0.journal == nil ? nil : $0.file }
    if let ready { return ready }
    try directory.create()
    if lock == nil { lock = WriterLock.acquire(directory) }
    guard lock != nil else {
      guard try directory.disk.isDirectory(directory.path) else {
        throw DiskError(operation: "open", path: directory.path, code: ENOTDIR)
      }
      catchUp(generation)
      ban(generation, .until(.now + .seconds(1)))
      return nil
    }
    // What was loaded without the lock may be out of date by now.
    let onDisk: EntryDirectory.Contents?
    do throws(EntryDirectory.Problem) {
      onDisk = try directory.load()
    } catch {
      switch error {
      case .empty, .broken: onDisk = nil
      case .newer:
        ban(generation, .forGood)
        return nil
      case .unreadable(let failure): throw failure
      }
    }
    let loadedID = generation.withState { $0.generationID }
    if let onDisk, onDisk.record.key == key.rawValue, onDisk.record.generation == loadedID {
      return try resume(generation, onDisk)
    }
    if loadedID == nil, let onDisk, isSame(generation, onDisk) {
      // Another process has stored it in the meantime.
      return try resume(generation, onDisk)
    }
    if loadedID != nil {
      // Another process has replaced what this generation was read from: it lives on in memory.
      ban(generation, .forGood)
      return nil
    }
    return try start(generation)
  }

  /// Another process writes this entry: what it has stored by now needs not be fetched.
  private func catchUp(_ generation: Generation) {
    guard let contents = try? directory.load(), contents.record.key == key.rawValue else { return }
    guard isSame(generation, contents) else { return }
    generation.perform { $0.isSuperseded ? [] : $0.catchUp(contents) }
  }

  /// Whether what is stored is this generation's, by its name or by a validator that vouches for
  /// every byte.
  private func isSame(_ generation: Generation, _ contents: EntryDirectory.Contents) -> Bool {
    let record = contents.record
    return generation.withState { state in
      if let id = state.generationID { return id == record.generation }
      return record.key == key.rawValue && state.length == record.length
        && state.validator.ifRange != nil && state.validator.matches(record.validator) == .same
    }
  }

  /// Goes on with what is stored.
  private func resume(
    _ generation: Generation, _ contents: EntryDirectory.Contents
  ) throws -> EntryFile {
    // Journals may be there from syncs that were cut short: they count until the record is replaced.
    let epoch = contents.lastEpoch + 1
    let journal = try makeJournal(contents.record.generation, epoch)
    open = OpenFiles(
      generation: generation, id: contents.record.generation, fileName: contents.record.file,
      epoch: epoch)
    let allocated = contents.file.allocatedBytes
    generation.withState { state in
      state.generationID = contents.record.generation
      state.stored = contents.spans
      state.synced = contents.syncedSpans
      state.file = contents.file
      state.journal = journal
      state.journalCount = 0
      state.accounted = allocated
      state.isTransient = false
      state.storageBan = .none
    }
    try writeDown(generation)
    return contents.file
  }

  /// Makes the files of a new generation, and lets go of the one before.
  private func start(_ generation: Generation) throws -> EntryFile? {
    let information = generation.withState { $0.info }
    let id = String(UInt64.random(in: .min ... .max), radix: 16)
    let ending = MediaType.fileExtension(
      mimeType: information?.mimeType, url: generation.entry.resource.url)
    let fileName = "\(id).\(ending)"
    let files = OpenFiles(generation: generation, id: id, fileName: fileName, epoch: 1)
    let path = "\(directory.path)/\(fileName)"
    let file: EntryFile
    let journal: JournalFile
    do {
      file = try EntryFile(path: path, mode: .create, disk: directory.disk)
      journal = try makeJournal(id, 1)
      try directory.write(record(generation, files, spans: .init()), durably: false)
    } catch {
      // The record that is there still holds, and so do its files.
      for name in [fileName, SpanJournal.fileName(generation: id, epoch: 1)] {
        try directory.disk.removeFile("\(directory.path)/\(name)")
      }
      throw error
    }
    open = files
    generation.withState { state in
      state.generationID = id
      state.file = file
      state.journal = journal
      state.journalCount = 0
      state.accounted = 0
      state.isTransient = false
      state.storageBan = .none
    }
    // Before the first byte: what the old generation took is what this one may take.
    try directory.removeFiles(
      except: [EntryRecord.fileName, fileName, lastComponent(journal.path)])
    context.store.setSize(name, allocated: Store.overhead)
    return file
  }

  private func makeJournal(_ id: String, _ epoch: Int) throws(DiskError) -> JournalFile {
    let path = "\(directory.path)/\(SpanJournal.fileName(generation: id, epoch: epoch))"
    return try JournalFile(
      path: path, epoch: epoch, bootIdentity: directory.bootIdentity, disk: directory.disk)
  }

  private func lastComponent(_ path: String) -> String {
    path.split(separator: "/").last.map(String.init) ?? path
  }

  private func record(
    _ generation: Generation, _ files: OpenFiles, spans: RangeSet<Int64>
  ) throws -> EntryRecord {
    let (known, validator) = generation.withState { ($0.known, $0.validator) }
    guard let known else {
      throw MediaCacheError(.storage, "Nothing is known of the resource yet.")
    }
    let info = known.information
    return EntryRecord(
      key: key.rawValue, url: generation.entry.resource.url.withoutUserInfo.absoluteString,
      finalURL: info.finalURL.absoluteString, generation: files.id, file: files.fileName,
      length: info.length, mimeType: info.mimeType, supportsRanges: info.supportsRanges,
      validator: validator, freshness: known.freshness,
      headers: known.headers.fields.flatMap { [$0.name, $0.value] },
      variant: known.selection.variant, grants: known.selection.grants,
      isSharable: context.configuration.isShared ? true : nil, invalidatedAt: known.invalidatedAt,
      spans: SpanList.encode(spans), epoch: files.epoch)
  }

  // MARK: Syncing

  /// The bytes of the data file may be lost: fsync(2) says so once, and forgets it.
  private struct DataLost: Error {
    var reason: DiskError
  }

  /// Makes what was stored so far survive a power cut: data, then record, then the name.
  ///
  /// - Returns: after which time it is to be called again; nil: when more has come.
  @discardableResult
  func sync(_ generation: Generation) -> Duration? {
    guard let open, open.generation === generation else {
      _ = generation.withState { $0.syncEnded(isDone: false) }
      return nil
    }
    do {
      try writeDown(generation)
      return generation.withState { $0.syncEnded(isDone: true) }
    } catch let error as DataLost {
      distrust(generation, error.reason)
    } catch {
      context.events.send(.warning("\(directory.path) could not be brought up to date: \(error)."))
    }
    _ = generation.withState { $0.syncEnded(isDone: false) }
    return nil
  }

  private func writeDown(_ generation: Generation) throws {
    guard var files = open else { return }
    files.epoch += 1
    // Whoever commits from here on writes to the next journal. A crash before the record is replaced
    // finds the old record and both journals; after it, the new record and the next journal.
    let next = try makeJournal(files.id, files.epoch)
    let (stored, file) = generation.withState { state in
      state.journal = next
      state.journalCount = 0
      state.syncBegan(at: .now)
      return (state.stored, state.file)
    }
    open = files
    do throws(DiskError) {
      try file?.sync()
    } catch {
      throw DataLost(reason: error)
    }
    try directory.write(record(generation, files, spans: stored), durably: true)
    if !isAnchored {
      try directory.syncParents()
      isAnchored = true
    }
    generation.withState { state in
      state.synced = stored
      state.isRecordStale = false
    }
    try directory.removeJournals(of: files.id, before: files.epoch)
  }

  /// What could not be synced may be gone from memory, too: it is neither claimed any more, nor read,
  /// and nothing is written to this file until the entry is opened again.
  private func distrust(_ generation: Generation, _ error: DiskError) {
    generation.withState { state in
      state.journal = nil
      state.isTransient = true
      state.storageBan = .forGood
      state.stored = state.stored.intersection(state.synced)
    }
    context.events.send(.warning("\(directory.path) is not written to any more: \(error)."))
    guard let files = open else { return }
    open = nil
    do {
      try directory.removeJournals(of: files.id, before: .max)
    } catch {
      context.events.send(.warning("\(directory.path) could not be brought up to date: \(error)."))
    }
  }

  private func refuse(_ generation: Generation, _ error: any Error) {
    ban(generation, .until(.now + Self.retryPause))
    context.events.send(
      .warning("\(key) is played without being stored for now: \(error)."))
  }

  private func ban(_ generation: Generation, _ ban: GenerationState.StorageBan) {
    generation.withState { state in
      state.storageBan = ban
      state.isTransient = true
    }
  }

  /// A write failed: nothing is stored for a while, or for good.
  func writeFailed(_ generation: Generation, _ error: any Error) {
    refuse(generation, error)
  }

  // MARK: Ending

  /// Writes down what is known, lets go of the lock, and tidies up.
  func finish(_ generation: Generation) {
    if let open, open.generation === generation {
      let (isStale, journal, leavesNothing) = generation.withState { state in
        (
          state.isRecordStale || state.stored != state.synced, state.journal,
          state.freshness?.noStore == true || state.isUnrepeatable
        )
      }
      do {
        if leavesNothing {
          try directory.removeFiles()
        } else {
          if isStale { try writeDown(generation) }
          if let last = generation.withState({ $0.journal }) ?? journal {
            // Nothing was written to it since the record was.
            try directory.disk.removeFile(last.path)
          }
        }
      } catch let error as DataLost {
        distrust(generation, error.reason)
      } catch {
        context.events.send(
          .warning("\(directory.path) could not be brought up to date: \(error)."))
      }
    } else {
      // A record that only came to be fresh again is worth writing, if nobody else writes.
      refreshRecord(generation)
    }
    // Readers that were cancelled, but not let go, keep the generation, and shall not keep the file.
    generation.withState { state in
      state.journal = nil
      state.file = nil
    }
    open = nil
    hasOverhead = false
    context.store.markClosed(name)
    lock = nil
  }

  /// The origin has another generation by now: whoever opens this one again asks first. One that
  /// was contradicted is not opened again.
  func outdate(_ generation: Generation, isContradicted: Bool) {
    let (isStored, isUnrepeatable) = generation.withState { state in
      state.freshness = state.freshness?.outdated
      state.isRecordStale = true
      return (state.generationID != nil, state.isUnrepeatable)
    }
    if isStored { refreshRecord(generation, removes: isContradicted || isUnrepeatable) }
  }

  private func refreshRecord(_ generation: Generation, removes: Bool = false) {
    let (isStale, id, known, variant) = generation.withState { state in
      (state.isRecordStale, state.generationID, state.known, state.variant)
    }
    guard isStale, let id, let known else { return }
    let freshness = known.freshness
    guard let lock = lock ?? WriterLock.acquire(directory) else { return }
    defer { withExtendedLifetime(lock) {} }
    guard var (record, _) = try? directory.loadRecord(), record.generation == id else { return }
    record.freshness = freshness
    record.headers = known.headers.fields.flatMap { [$0.name, $0.value] }
    record.variant = variant
    record.grants = known.selection.grants
    record.invalidatedAt = known.invalidatedAt
    do {
      if freshness.noStore { return try directory.removeFiles() }
      if removes { return try directory.disk.removeFile(directory.recordPath) }
      try directory.write(record, durably: true)
    } catch {
      context.events.send(.warning("\(directory.path) could not be brought up to date: \(error)."))
    }
  }

  /// Removes the entry's files; readers go on with what they hold.
  func removeFiles(_ generation: Generation?) throws -> Bool {
    if lock == nil { lock = WriterLock.acquire(directory) }
    guard lock != nil else {
      if try directory.disk.status(of: directory.path) == nil { return false }
      throw MediaCacheError(
        .inUse, "Another process is writing \(key).", remedy: "Stop it, then try again.")
    }
    try directory.removeFiles()
    generation?.withState { $0.filesRemoved() }
    open = nil
    isAnchored = false
    lock = nil
    return true
  }
}
