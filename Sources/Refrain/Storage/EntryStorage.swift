// SPDX-License-Identifier: MIT
import Foundation
import Synchronization

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

  private struct OpenFiles {
    var generation: ObjectIdentifier
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
      guard contents.record.key == key.rawValue else { return state }
      state.adopt(contents)
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
    do {
      return try begin(generation)
    } catch let error as DiskError where error.isNoSpace {
      // Directories and records need room, too.
      if await context.evictor.free(1 << 20) > 0, let file = try? begin(generation) {
        return file
      }
      refuse(generation, error)
      return nil
    } catch {
      refuse(generation, error)
      return nil
    }
  }

  private func begin(_ generation: Generation) throws -> EntryFile? {
    try directory.create()
    if lock == nil { lock = WriterLock(directory: directory.path) }
    guard lock != nil else {
      catchUp(generation)
      ban(generation, .until(.now + .seconds(1)))
      return nil
    }
    // What was loaded without the lock may be out of date by now.
    let onDisk = try? directory.load()
    if case .newer = newerProblem() {
      ban(generation, .forGood)
      return nil
    }
    let loadedID = generation.withState { $0.generationID }
    if let onDisk, onDisk.record.key == key.rawValue, onDisk.record.generation == loadedID {
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
    generation.perform { state in
      let isSame = state.generationID.map { $0 == contents.record.generation }
        ?? (state.validator.matches(contents.record.validator) == .same
          && state.length == contents.record.length)
      guard isSame, !state.isSuperseded else { return [] }
      return state.catchUp(contents)
    }
  }

  private func newerProblem() -> EntryDirectory.Problem? {
    do throws(EntryDirectory.Problem) {
      _ = try directory.loadRecord()
      return nil
    } catch {
      return error
    }
  }

  /// Goes on with what is stored.
  private func resume(
    _ generation: Generation, _ contents: EntryDirectory.Contents
  ) throws -> EntryFile {
    // Two further: the one in between may be there from a sync that was cut short.
    let epoch = contents.record.epoch + 2
    let journal = try makeJournal(contents.record.generation, epoch)
    open = OpenFiles(
      generation: ObjectIdentifier(generation), id: contents.record.generation,
      fileName: contents.record.file, epoch: epoch)
    let allocated = contents.file.allocatedBytes
    generation.withState { state in
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
    let file = try EntryFile(path: "\(directory.path)/\(fileName)", mode: .create, disk: directory.disk)
    let journal = try makeJournal(id, 1)
    open = OpenFiles(
      generation: ObjectIdentifier(generation), id: id, fileName: fileName, epoch: 1)
    generation.withState { state in
      state.generationID = id
      state.file = file
      state.journal = journal
      state.journalCount = 0
      state.accounted = 0
      state.isTransient = false
      state.storageBan = .none
    }
    try directory.write(record(generation, spans: .init()), durably: false)
    // Before the first byte: what the old generation took is what this one may take.
    try directory.removeFiles(
      except: [EntryRecord.fileName, fileName, lastComponent(journal.path)])
    return file
  }

  private func makeJournal(_ id: String, _ epoch: Int) throws(DiskError) -> JournalFile {
    let path = "\(directory.path)/\(SpanJournal.fileName(generation: id, epoch: epoch))"
    return try JournalFile(path: path, epoch: epoch, disk: directory.disk)
  }

  private func lastComponent(_ path: String) -> String {
    path.split(separator: "/").last.map(String.init) ?? path
  }

  private func record(_ generation: Generation, spans: RangeSet<Int64>) throws -> EntryRecord {
    guard let open else { throw MediaCacheError(.storage, "Nothing is open.") }
    let (info, validator, freshness) = generation.withState {
      ($0.info, $0.validator, $0.freshness)
    }
    guard let info, let freshness else {
      throw MediaCacheError(.storage, "Nothing is known of the resource yet.")
    }
    return EntryRecord(
      key: key.rawValue, url: generation.entry.resource.url.absoluteString,
      finalURL: info.finalURL.absoluteString, generation: open.id, file: open.fileName,
      length: info.length, mimeType: info.mimeType, supportsRanges: info.supportsRanges,
      validator: validator, freshness: freshness, spans: SpanList.encode(spans),
      epoch: open.epoch)
  }

  // MARK: Syncing

  /// Makes what was stored so far survive a power cut: data, then record, then the name.
  func sync(_ generation: Generation) {
    var isDone = false
    defer {
      generation.withState { state in
        state.isSyncing = false
        // It is tried again when more has come, or at the end.
        if !isDone { state.unsyncedBytes = 0 }
      }
    }
    guard let open, open.generation == ObjectIdentifier(generation) else { return }
    do {
      try writeDown(generation)
      isDone = true
    } catch let error as DiskError where !error.isNoSpace {
      // What could not be synced may be lost from memory too, without another word: it is read
      // while it is there, and never claimed (fsync(2) tells an error once only).
      generation.withState { state in
        state.journal = nil
        state.isTransient = true
        state.storageBan = .forGood
      }
      self.open = nil
      context.events.send(.warning("\(directory.path) is not written to any more: \(error)."))
    } catch {
      context.events.send(.warning("\(directory.path) could not be brought up to date: \(error)."))
    }
  }

  private func writeDown(_ generation: Generation) throws {
    guard var files = open else { return }
    files.epoch += 1
    // Whoever commits from here on writes to the next journal. A crash before the record is replaced
    // finds the old record and both journals; after it, the new record and the next journal.
    let next = try makeJournal(files.id, files.epoch)
    let (old, stored, file) = generation.withState { state in
      defer {
        state.journal = next
        state.journalCount = 0
        state.unsyncedBytes = 0
      }
      return (state.journal, state.stored, state.file)
    }
    open = files
    try file?.sync()
    try directory.write(record(generation, spans: stored), durably: true)
    generation.withState { state in
      state.synced = stored
      state.isRecordStale = false
    }
    if let old { try directory.disk.removeFile(old.path) }
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
    if let open, open.generation == ObjectIdentifier(generation) {
      let (isStale, journal, noStore) = generation.withState { state in
        (state.isRecordStale || state.stored != state.synced, state.journal,
         state.freshness?.noStore == true)
      }
      do {
        if noStore {
          try directory.removeFiles()
        } else {
          if isStale { try writeDown(generation) }
          if let last = generation.withState({ $0.journal }) ?? journal {
            // Nothing was written to it since the record was.
            try directory.disk.removeFile(last.path)
          }
        }
      } catch {
        context.events.send(.warning("\(directory.path) could not be brought up to date: \(error)."))
      }
    } else {
      // A record that only came to be fresh again is worth writing, if nobody else writes.
      refreshRecord(generation)
    }
    generation.withState { $0.journal = nil }
    open = nil
    context.store.markClosed(name)
    lock = nil
  }

  /// The origin has another generation by now: whoever opens this one again asks first. One that
  /// was contradicted is not opened again.
  func outdate(_ generation: Generation, isContradicted: Bool) {
    let isStored = generation.withState { state in
      state.freshness = state.freshness?.outdated
      state.isRecordStale = true
      return state.generationID != nil
    }
    if isStored { refreshRecord(generation, removes: isContradicted) }
  }

  private func refreshRecord(_ generation: Generation, removes: Bool = false) {
    let (isStale, id, freshness) = generation.withState { state in
      (state.isRecordStale, state.generationID, state.freshness)
    }
    guard isStale, let id, let freshness else { return }
    guard let lock = lock ?? WriterLock(directory: directory.path) else { return }
    defer { withExtendedLifetime(lock) {} }
    guard var (record, _) = try? directory.loadRecord(), record.generation == id else { return }
    record.freshness = freshness
    do {
      if freshness.noStore { return try directory.removeFiles() }
      if removes { return try directory.disk.removeFile(directory.recordPath) }
      try directory.write(record, durably: false)
    } catch {
      context.events.send(.warning("\(directory.path) could not be brought up to date: \(error)."))
    }
  }

  /// Removes the entry's files; readers go on with what they hold.
  func removeFiles() throws -> Bool {
    if lock == nil { lock = WriterLock(directory: directory.path) }
    guard lock != nil else {
      if FileReading.status(of: directory.path) == nil { return false }
      throw MediaCacheError(
        .inUse, "Another process is writing \(key).", remedy: "Stop it, then try again.")
    }
    try directory.removeFiles()
    open = nil
    lock = nil
    return true
  }
}
