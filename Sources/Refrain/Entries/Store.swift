// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// The owner of an open entry's files: data, record, journal and lock. They are made when the first
/// byte arrives, synced while bytes arrive, and recorded when the last holder leaves.
///
/// Every method blocks. A default actor runs where its caller's task prefers: on `IOThreads.shared`
/// what a player waits for, and syncs on `IOThreads.background`.
actor Store {
  let directory: EntryDirectory
  let name: String
  let key: CacheKey
  /// Without user and password.
  let url: String
  let evictor: Evictor
  let budget: DiskBudget
  let events: EventStreams
  let isShared: Bool

  /// The entry's lock; nil while another process may write.
  var writer: EntryFile?
  /// The generation that is being written; nil without a writer.
  var open: (generation: Generation, files: Files)?
  /// Bytes reserved for files besides the data, and for removed files that are still read.
  var (overhead, held): (Int64, Int64) = (0, 0)

  struct Files: Sendable {
    var id: String
    var fileName: String
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

  /// The state stored under the key, `empty` if none is usable, and what is found there.
  nonisolated func load(
    _ empty: GenerationState
  ) -> (state: GenerationState, found: EntryDirectory.Contents?) {
    var state = empty
    do throws(EntryDirectory.Problem) {
      let contents = try directory.load()
      guard contents.record.key == key.rawValue else { throw .broken("it has another key") }
      state.adopt(contents)
      if contents.record.freshness.noStore { state.storage.ignoreNoStore() }
      // A process that ended suddenly leaves what cannot be repeated.
      guard mayUse(contents.record), !state.isUnrepeatable else {
        state = empty
        state.storage.replaced = contents.record.generation
        return (state, contents)
      }
      if let warning = contents.warning { warn(warning) }
      budget.touch(name)
      return (state, contents)
    } catch {
      if let warning = error.warning(of: "of \(url) in \(directory.path)") { warn(warning) }
      return (empty, nil)
    }
  }

  /// Nil if nothing can be stored now.
  func prepare(_ generation: Generation) async -> EntryFile? {
    if generation.withState({ $0.storage.isRefused(at: .now) }) { return nil }
    if overhead < DiskBudget.overhead {
      guard await evictor.reserve(DiskBudget.overhead, for: generation) else {
        generation.refuse(.noRoom, for: .milliseconds(500))
        return nil
      }
      // Twice, if another fetch has been as fast.
      overhead += DiskBudget.overhead
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
    // It may have been replaced, removed or forbidden while room was made.
    if generation.withState({ $0.isOver || $0.storage.isRefused(at: .now) }) { return nil }
    let ready = generation.withState { state -> EntryFile? in
      guard state.storage.isPrepared else { return nil }
      state.storage.refusal = nil
      return state.file
    }
    // Another fetch may have been faster.
    if let ready { return ready }
    guard try becomeWriter() else {
      generation.refuse(.inUse, for: .seconds(1))
      return nil
    }
    // What was loaded without the lock may be out of date.
    var contents: EntryDirectory.Contents?
    do throws(EntryDirectory.Problem) { contents = try directory.load(.readWrite) } catch {
      if case .unreadable(let failure) = error { throw failure }
    }
    if contents?.record.key != key.rawValue { contents = nil }
    let last = open?.generation === generation ? nil : open?.files.id
    let decision = generation.withState { [contents] state in
      // Its files may have been made after this generation was.
      if let last { state.storage.replaced = last }
      return state.storingDecision(for: contents?.record)
    }
    if decision == .resume, let contents { return try resume(generation, contents) }
    if decision == .stream {
      generation.withState { $0.storage.refuse(.inUse) }
      return nil
    }
    // Its lock would make the files that are about to be removed look as if somebody read them.
    (contents, open) = (nil, nil)
    // Not beside the data of an earlier generation: there may be no room for both.
    if try directory.disk.status(of: directory.path) != nil { try removeFiles(keepsRecord: true) }
    try directory.disk.makeDirectories(directory.path)
    // What was stored of this generation is gone.
    generation.withState { $0.storage.vanish() }
    return try start(generation)
  }

  /// False if another process is.
  func becomeWriter() throws(DiskError) -> Bool {
    guard writer == nil, let lock = try WriterLock.acquire(directory) else { return writer != nil }
    // The copy of a record that is replaced.
    let copy: Int64 = overhead == 0 ? 8192 : 0
    try budget.begin(name, holding: copy)
    (writer, overhead) = (lock, overhead + copy)
    if case .failure(let failure) = lock.locking,
      !budget.hasReportedLocks.exchange(true, ordering: .relaxed)
    {
      warn(
        "The cache cannot lock files in \(budget.directory) (\(failure)), as on some network file "
          + "systems and in the container of an app group. Use it from one process at a time: "
          + "several would overwrite each other's data.")
    }
    return true
  }

  /// Whether another process stores the entry. If none does any more, continues what another has
  /// stored, so that none of it is requested.
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
    let journal = try JournalFile(in: directory, named: files.journalName)
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
    let file = try EntryFile(path: path, mode: .create, disk: directory.disk)
    let journal = try JournalFile(in: directory, named: files.journalName)
    try directory.write(record(generation, files, spans: .init()), durably: false)
    open = (generation, files)
    generation.withState { state in
      state.storage.begin(id, in: file, journal)
      // It is durable only once it has been written again.
      state.storage.noteRecordStale()
    }
    return file
  }

  func endWriting() {
    if overhead > 0 { budget.conclude(name, reserved: overhead) }
    (writer, open, overhead) = (nil, nil, 0)
  }

  nonisolated func warn(_ text: String) { events.send(.warning(text)) }

  @discardableResult
  func attempt<Result>(_ work: () throws -> Result) -> Result? {
    let isStoring = open != nil
    do {
      return try work()
    } catch {
      // Nothing is stored in a directory that cannot be written.
      if !isStoring, (error as? DiskError)?.isRefused == true { return nil }
      warn("The entry of \(url) could not be updated: \(error).")
      return nil
    }
  }
}

extension Generation {
  func refuse(_ problem: MediaCacheError, for pause: Duration) {
    withState { $0.storage.refuse(problem, until: .now + pause) }
  }
}
