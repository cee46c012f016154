// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// The owner of an open entry's files: data, record, journal and lock. They are made when the first
/// byte arrives, synced while bytes arrive, and recorded when the last holder leaves.
///
/// Called from tasks on `IOThreads` only, because every method blocks. A default actor runs where its
/// caller's task prefers: what a player waits for on `IOThreads.shared`, behind no sync of another
/// entry, and the syncs on `IOThreads.background`. An executor of its own could not tell them apart.
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

  /// Nil while this process does not write to the entry.
  var writer: Writer?
  /// The generation that is being written, and its files; nil without a writer.
  var open: (generation: Generation, files: Files)?
  /// Bytes reserved for the entry's files besides its data.
  private var overhead: Int64 = 0
  /// Bytes of removed files that somebody still reads.
  var held: Int64 = 0

  /// The right to write to the entry.
  struct Writer {
    let lock: EntryFile
    /// The size of the entry when its growth was last counted.
    var counted: DiskBudget.Before
    /// Whether the entry's parent directories are known to survive a power cut.
    var isAnchored = false
  }

  /// The name of a generation and of its data file, which identify its files.
  struct Files: Sendable {
    var id: String
    var fileName: String
    /// Of the record, or of the journal that is written to.
    var epoch: Int

    var journalName: String { SpanJournal.fileName(generation: id, epoch: epoch) }
  }

  init(
    key: CacheKey, resource: Resource, evictor: Evictor, events: EventStreams, isShared: Bool
  ) {
    (self.key, name) = (key, KeyHash.name(of: key))
    url = resource.url.withoutUserInfo.absoluteString
    (self.evictor, budget) = (evictor, evictor.budget)
    directory = budget.entryDirectory(named: name)
    (self.events, self.isShared) = (events, isShared)
  }

  /// Returns the state stored under the key, `empty` if none is usable, and what is found there.
  nonisolated func load(
    _ empty: GenerationState
  ) -> (state: GenerationState, found: EntryDirectory.Contents?) {
    var state = empty
    do throws(EntryDirectory.Problem) {
      let contents = try directory.load()
      // A stored generation that is not used is replaced by the new one.
      var replacing = empty
      replacing.storage.replaced = contents.record.generation
      guard contents.record.key == key.rawValue else {
        warn("The entry in \(directory.path) has another key than \(url) and is ignored.")
        return (empty, nil)
      }
      guard mayUse(contents.record) else { return (replacing, contents) }
      state.adopt(contents)
      if contents.record.freshness.noStore { state.storage.ignoreNoStore() }
      // Left by a process that ended suddenly; a new generation replaces it.
      if state.isUnrepeatable { return (replacing, contents) }
      if let warning = contents.warning { warn(warning) }
      budget.touch(name)
      return (state, contents)
    } catch {
      if let warning = error.warning(of: "of \(url) in \(directory.path)") { warn(warning) }
      return (empty, nil)
    }
  }

  // MARK: Beginning

  /// Returns the file to write to; nil if nothing can be stored now.
  func prepare(_ generation: Generation) async -> EntryFile? {
    if generation.withState({ $0.storage.isRefused(at: .now) }) { return nil }
    if overhead < DiskBudget.overhead {
      let length = generation.withState(\.length)
      guard await evictor.reserve(DiskBudget.overhead, for: name, length: length) else {
        generation.refuse(.noRoom, for: .milliseconds(500))
        return nil
      }
      // Another fetch may have been faster.
      if overhead >= DiskBudget.overhead {
        budget.settle(DiskBudget.overhead, actual: 0, for: name)
      } else {
        overhead += DiskBudget.overhead
      }
    }
    for isLast in [false, true] {
      do {
        return try begin(generation)
      } catch {
        // Directories and records need room, too.
        let isFull = (error as? DiskError)?.isNoSpace == true
        if isFull, !isLast, await evictor.free(1 << 20) > 0 { continue }
        writeFailed(generation, error)
        break
      }
    }
    return nil
  }

  /// Makes or opens the files of a generation (`StoringDecision`).
  private func begin(_ generation: Generation) throws -> EntryFile? {
    let (isOver, ready) = generation.withState { state -> (Bool, EntryFile?) in
      // It may have been removed, or forbidden, while room was made.
      if state.isOver || state.storage.isRefused(at: .now) { return (true, nil) }
      guard state.storage.isPrepared else { return (false, nil) }
      state.storage.refusal = nil
      return (false, state.file)
    }
    // The files belong to another generation now, or another fetch has been faster.
    if isOver || ready != nil { return ready }
    guard try becomeWriter() else {
      generation.refuse(.inUse, for: .seconds(1))
      return nil
    }
    // The contents loaded without the lock may be out of date. Nil: nothing that could be used.
    var contents: EntryDirectory.Contents?
    do throws(EntryDirectory.Problem) {
      let found = try directory.load(.readWrite)
      if found.record.key == key.rawValue {
        contents = found
        generation.entry.withPolicy { $0.adopt(found.record) }
      }
    } catch {
      if case .unreadable(let failure) = error { throw failure }
    }
    let decision = generation.withState { [contents] in $0.storingDecision(for: contents?.record) }
    // Its lock would make the files that are about to be removed look as if somebody read them.
    if decision != .resume { contents = nil }
    switch (decision, contents) {
    case (.resume, let contents?): return try resume(generation, contents)
    case (.stream, _):
      generation.withState { $0.storage.refuse(.inUse) }
      return nil
    case (.start, _), (.resume, nil):
      open = nil
      // Not beside the data of an earlier generation: there may be no room for both.
      if try !directory.create() { try removeFiles(keepsRecord: true) }
      // The bytes stored of this generation are gone, with the directory.
      generation.withState { $0.storage.vanish() }
      return try start(generation)
    }
  }

  /// Returns whether this is the entry's writer, perhaps from now on.
  func becomeWriter() throws(DiskError) -> Bool {
    guard writer == nil, let lock = try WriterLock.acquire(directory) else { return writer != nil }
    // The copy of a record that is replaced.
    let copy: Int64 = overhead == 0 ? 8192 : 0
    writer = Writer(lock: lock, counted: budget.begin(name))
    budget.hold(copy)
    overhead += copy
    if case .failure(let failure) = lock.locking,
      !budget.hasReportedLocks.exchange(true, ordering: .relaxed)
    {
      warn(
        "The cache cannot lock files in \(budget.directory) (\(failure)): some network file systems "
          + "have no locks, and in the container of an app group none are used. Use it from one "
          + "process at a time: several would overwrite each other's data. A local directory of the "
          + "app's own has no such limit.")
    }
    return true
  }

  /// Whether another process stores the entry: this one cannot meanwhile. If none does any more,
  /// continues what another has stored, so that none of it is requested.
  func isTaken(for generation: Generation) async -> Bool {
    if writer != nil { return false }
    if WriterLock.isHeld(directory) { return true }
    if generation.withState({ $0.generationID != nil }) { _ = await prepare(generation) }
    return false
  }

  private func resume(
    _ generation: Generation, _ contents: EntryDirectory.Contents
  ) throws -> EntryFile? {
    // Interrupted syncs may have left journals: they count until the record is replaced.
    let (id, name) = (contents.record.generation, contents.record.file)
    let files = Files(id: id, fileName: name, epoch: contents.lastEpoch + 1)
    let journal = try makeJournal(files)
    open = (generation, files)
    let allocated = try contents.file?.status().allocated ?? 0
    generation.withState { state in
      state.storage.adopt(contents, journal, allocated: allocated)
      // They may wait for bytes that another process has stored since.
      state.wakeServed()
    }
    return try writeDown(generation) ? contents.file : nil
  }

  private func start(_ generation: Generation) throws -> EntryFile {
    let mimeType = generation.withState { $0.info?.mimeType }
    let resource = generation.entry.resource
    let ending = MediaType.fileExtension(
      mimeType: mimeType, url: resource.url, documents: resource.policy.documents)
    let id = String(UInt64.random(in: .min ... .max), radix: 16)
    let files = Files(id: id, fileName: "\(id).\(ending)", epoch: 1)
    let path = "\(directory.path)/\(files.fileName)"
    do {
      let file = try EntryFile(path: path, mode: .create, disk: directory.disk)
      let journal = try makeJournal(files)
      try directory.write(record(generation, files, spans: .init()), durably: false)
      open = (generation, files)
      generation.withState { state in
        state.storage.begin(id, in: file, journal)
        // It is durable only once it has been written again.
        state.storage.noteRecordStale()
      }
      return file
    } catch {
      attempt { if try !directory.isPinned { try removeFiles() } }
      throw error
    }
  }

  /// Ends the right to write, and settles the size of the files; `isClosed`: of removed ones, too.
  func endWriting(isClosed: Bool = false) {
    let released = isClosed ? held : 0
    if overhead + released > 0 {
      budget.conclude(name, reserved: overhead + released, since: writer?.counted)
    }
    (writer, open, overhead, held) = (nil, nil, 0, held - released)
  }

  // MARK: Reporting

  nonisolated func warn(_ text: String) { events.send(.warning(text)) }

  /// Runs work that keeps the files up to date, and reports its failure. That of a read-only
  /// directory matters only if something is being stored there.
  @discardableResult
  func attempt<Result>(_ work: () throws -> Result) -> Result? {
    do {
      return try work()
    } catch {
      if open != nil || (error as? DiskError)?.isRefused != true {
        warn("The entry of \(url) could not be updated: \(error).")
      }
      return nil
    }
  }
}

extension Generation {
  func refuse(_ problem: MediaCacheError, for pause: Duration) {
    withState { $0.storage.refuse(problem, until: .now + pause) }
  }
}
