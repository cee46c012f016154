// SPDX-License-Identifier: MIT
import Foundation

/// The owner of an open entry's files: data, record, journal and lock. They are made when the first
/// byte arrives, synced while bytes arrive, and recorded when the last holder leaves. Calls are
/// serialized. Called from tasks on `IOThreads` only, because every method blocks.
actor Store {
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

  var lock: WriterLock?
  /// The generation that is being written, and its files.
  var open: (generation: Generation, files: Files)?

  /// Whether the entry's parent directories are known to survive a power cut.
  var isAnchored = false
  /// Whether room was reserved for the entry's overhead besides its data.
  var hasOverhead = false
  /// The size of the entry before anything was written to it; nil while it is not being written to.
  var sizeBefore: DiskBudget.Before?
  /// Bytes of removed files that somebody still reads.
  var held: Int64 = 0
  /// The record's file as `noticeOthers` last found it.
  var seenRecord: FileStatus?

  /// The name of a generation and of its data file, which identify its files.
  struct Files: Sendable {
    var id: String
    var fileName: String
    /// Of the record, or of the journal that is written to.
    var epoch: Int

    func owns(_ name: String) -> Bool {
      name == fileName || SpanJournal.epoch(of: name, generation: id) != nil
    }
  }

  /// - Parameter evictor: makes room for what is stored.
  init(
    name: String, key: CacheKey, resource: Resource, evictor: Evictor, events: EventStreams,
    isShared: Bool
  ) {
    url = resource.url.withoutUserInfo.absoluteString
    budget = evictor.budget
    directory = budget.entryDirectory(named: name)
    self.name = name
    self.key = key
    (self.evictor, self.events, self.isShared) = (evictor, events, isShared)
  }

  /// Returns the state stored under the key; `empty` if nothing usable is stored.
  ///
  /// - Parameter adopt: called with the record under the key, if there is one, and how long the entry
  ///   is marked to stay.
  nonisolated func load(
    _ empty: GenerationState, adopt: (EntryRecord, _ keep: Int64?) -> Void
  ) -> GenerationState {
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
      adopt(contents.record, contents.keep)
      guard mayUse(contents.record) else { return replacing }
      state.adopt(contents)
      if contents.record.freshness.noStore { state.storage.ignoreNoStore() }
      // Left by a process that ended suddenly; a new generation replaces it.
      if state.isUnrepeatable { return replacing }
      if contents.isReadOnly { state.storage.refuse(.readOnly) }
      for warning in contents.warnings { events.send(.warning(warning)) }
      budget.touch(name)
    } catch {
      switch error {
      case .empty: break
      case .newer(let version):
        state.storage.refuse(.newerFormat)
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

  // MARK: Beginning

  /// Prepares a generation's file for writing.
  ///
  /// - Returns: the file; nil if nothing can be stored now.
  func prepare(_ generation: Generation) async -> EntryFile? {
    let now = ContinuousClock.now
    let (file, isRefused) = generation.withState { state -> (EntryFile?, Bool) in
      if state.storage.isRefused(at: now) { return (nil, true) }
      guard state.storage.isPrepared, let file = state.file else { return (nil, false) }
      state.storage.allow()
      return (file, false)
    }
    if file != nil || isRefused { return file }
    guard await reserveOverhead(generation) else {
      generation.refuse(.noRoom, for: .milliseconds(500))
      return nil
    }
    var isFirst = true
    while true {
      do {
        return try begin(generation)
      } catch let error as DiskError where error.isNoSpace && isFirst {
        // Directories and records need room, too.
        isFirst = false
        if await evictor.free(1 << 20) > 0 { continue }
        writeFailed(generation, error)
      } catch {
        writeFailed(generation, error)
      }
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

  /// Makes or opens the files of a generation (`StoringDecision`).
  private func begin(_ generation: Generation) throws -> EntryFile? {
    // The files belong to another generation now.
    if generation.withState({ $0.isOver }) { return nil }
    // Another fetch may have been faster while room was made.
    let ready = generation.withState { $0.storage.isPrepared ? $0.file : nil }
    if let ready { return ready }
    let recordState = recordState(of: generation)
    if let files = open?.files, recordState != .written {
      // The bytes written to the files have been lost.
      open = nil
      try discard(files, recordState)
      generation.withState { $0.storage.vanish() }
    }
    guard try takeLock() else {
      generation.refuse(.inUse, for: .seconds(1))
      return nil
    }
    let contents: EntryDirectory.Contents?
    do throws(EntryDirectory.Problem) {
      contents = try lookUp()
      if let record = contents?.record { generation.entry.withPolicy { $0.adopt(record) } }
    } catch {
      if case .unreadable(let failure) = error { throw failure }
      generation.withState { $0.storage.refuse(.newerFormat) }
      return nil
    }
    let memory = generation.withState(\.storingMemory)
    switch (StoringDecision.decide(for: contents?.record, memory), contents) {
    case (.resume, let contents?): return try resume(generation, contents)
    case (.stream(let problem), _):
      generation.withState { $0.storage.refuse(problem) }
      return nil
    case (.start, _), (.resume, nil):
      let isNew = try directory.create()
      // The bytes stored of this generation are gone, with the directory.
      generation.withState { $0.storage.vanish() }
      return try start(generation, replacing: contents, isAlone: isNew)
    }
  }

  /// Takes the writer lock if it is free.
  ///
  /// - Returns: whether this is the entry's writer.
  private func takeLock() throws(DiskError) -> Bool {
    if lock != nil {
      try noteSize()
      return true
    }
    let taken = try WriterLock.acquire(directory)
    if taken != nil { try noteSize() }
    lock = taken
    if let failure = lock?.failure, let warning = budget.warning(ofNoLocks: failure) {
      events.send(.warning(warning))
    }
    return lock != nil
  }

  /// Whether another process stores the entry: this one cannot meanwhile. If none does any more,
  /// continues what another has stored, so that none of it is requested.
  func isTaken(for generation: Generation) async -> Bool {
    if lock != nil { return false }
    if WriterLock.isHeld(directory) { return true }
    if generation.withState({ $0.generationID != nil }) { _ = await prepare(generation) }
    return false
  }

  /// Reads the stored entry again: the contents loaded without the lock may be out of date.
  ///
  /// - Returns: nil if nothing is stored that could be used: a damaged entry, or one of another key.
  private func lookUp() throws(EntryDirectory.Problem) -> EntryDirectory.Contents? {
    do throws(EntryDirectory.Problem) {
      let contents = try directory.load()
      return contents.record.key == key.rawValue ? contents : nil
    } catch {
      switch error {
      case .empty, .broken: return nil
      case .newer, .unreadable: throw error
      }
    }
  }

  /// Continues with the stored files.
  private func resume(
    _ generation: Generation, _ contents: EntryDirectory.Contents
  ) throws -> EntryFile? {
    // Interrupted syncs may have left journals: they count until the record is replaced.
    let files = Files(
      id: contents.record.generation, fileName: contents.record.file,
      epoch: contents.lastEpoch + 1)
    let journal = try makeJournal(files)
    open = (generation, files)
    let allocated = try contents.file.status().allocated
    generation.withState { state in
      state.storage.adopt(contents, journal, allocated: allocated)
      // They may wait for bytes that another process has stored since.
      state.wakeServed()
    }
    guard try writeDown(generation) else { return nil }
    do throws(DiskError) {
      // Files of other generations, which a process left when it ended suddenly.
      try removeOthers(than: [files])
    } catch {
      reportOutdated(error)
    }
    return contents.file
  }

  /// Makes the files of a new generation.
  ///
  /// - Parameter found: the stored generation. It stays until bytes of the new generation are
  ///   stored, unless none of its bytes are readable.
  /// - Parameter isAlone: whether the directory is otherwise empty.
  private func start(
    _ generation: Generation, replacing found: EntryDirectory.Contents?, isAlone: Bool
  ) throws -> EntryFile? {
    let information = generation.withState { $0.info }
    // An empty resource is complete before any byte comes.
    let replaced = found.flatMap { contents in
      contents.spans.isEmpty || information?.length == 0
        ? nil
        : Files(id: contents.record.generation, fileName: contents.record.file, epoch: 0)
    }
    let id = String(UInt64.random(in: .min ... .max), radix: 16)
    let resource = generation.entry.resource
    let ending = MediaType.fileExtension(
      mimeType: information?.mimeType, url: resource.url, documents: resource.policy.documents)
    let files = Files(id: id, fileName: "\(id).\(ending)", epoch: 1)
    let path = "\(directory.path)/\(files.fileName)"
    let recordState: StoredBytes.RecordState =
      isAlone ? .deferred : replaced == nil ? .written : .replacing
    let file: EntryFile
    var journal: JournalFile?
    do {
      file = try EntryFile(path: path, mode: .create, disk: directory.disk)
      if recordState != .deferred { journal = try makeJournal(files) }
      if recordState == .written {
        try directory.write(record(generation, files, spans: .init()), durably: false)
      }
    } catch {
      // The existing record and its files remain valid.
      for name in [files.fileName, SpanJournal.fileName(generation: id, epoch: 1)] {
        try directory.disk.removeFile("\(directory.path)/\(name)")
      }
      throw error
    }
    open = (generation, files)
    generation.withState { [journal] in $0.storage.begin(id, in: file, journal, recordState) }
    if recordState == .deferred { generation.entry.recordSoon(generation) }
    if !isAlone { try removeOthers(than: [files] + [replaced].compactMap(\.self)) }
    return file
  }

  // MARK: Size

  /// Pins the entry; see `EntryDirectory.pin`.
  func pin() throws(DiskError) -> Bool { try directory.pin(isLocked: lock != nil) }

  /// Notes the size of the entry before anything is written to it.
  func noteSize() throws(DiskError) {
    if sizeBefore == nil { sizeBefore = try budget.begin(name) }
  }

  /// Settles the size of the written files. Call it only while the lock is held, or if it was never
  /// taken.
  ///
  /// - Parameter isClosed: whether this process no longer reads removed files of the entry.
  func concludeSize(isClosed: Bool) {
    let released = isClosed ? held : 0
    guard hasOverhead || sizeBefore != nil || released > 0 else { return }
    let overhead = hasOverhead ? DiskBudget.overhead : 0
    budget.conclude(name, reserved: overhead + released, since: sizeBefore)
    held -= released
    hasOverhead = false
    sizeBefore = nil
  }
}

extension Generation {
  /// Has nothing stored for a time.
  func refuse(_ problem: StorageProblem, for pause: Duration) {
    withState { $0.storage.refuse(problem, until: .now + pause) }
  }
}
