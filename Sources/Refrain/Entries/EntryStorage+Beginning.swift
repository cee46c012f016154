// SPDX-License-Identifier: MIT
import Foundation

/// Makes or opens the files of a generation (`StoringDecision`).
extension EntryStorage {
  func begin(_ generation: Generation) throws -> EntryFile? {
    // The files belong to another generation now.
    if generation.withState({ $0.isOver }) { return nil }
    // Another fetch may have been faster while room was made.
    let ready = generation.withState { $0.storage.isPrepared ? $0.file : nil }
    if let ready { return ready }
    let recordState = recordState(of: generation)
    if let files = open, recordState != .written {
      // The bytes written to the files have been lost.
      open = nil
      try discard(files, recordState)
      generation.withState { $0.storage.vanish() }
    }
    let holdsLock = try takeLock()
    let (found, contents) = try lookUp()
    let decision = StoringDecision.decide(
      holdsLock: holdsLock, found: found, memory: generation.withState(\.storingMemory))
    switch (decision, contents) {
    case (.resume, let contents?): return try resume(generation, contents)
    case (.catchUp, let contents?):
      generation.perform { $0.life == .superseded ? [] : $0.catchUp(contents) }
      ban(generation, .until(.now + .seconds(1)), .inUse)
      return nil
    case (.stream(.inUse), _):
      ban(generation, .until(.now + .seconds(1)), .inUse)
      return nil
    case (.stream(let problem), _):
      ban(generation, .forGood, problem)
      return nil
    case (.start, _), (.resume, nil), (.catchUp, nil):
      let isNew = try directory.create()
      // The bytes stored of this generation are gone, with the directory.
      generation.withState { $0.storage.vanish() }
      return try start(generation, replacing: contents, isAlone: isNew)
    }
  }

  /// Takes the writer lock if it is free.
  ///
  /// - Returns: whether this is the entry's writer.
  func takeLock() throws(DiskError) -> Bool {
    if lock != nil { return true }
    let taken = try WriterLock.acquire(directory)
    if taken != nil { try noteSize() }
    lock = taken
    if let failure = lock?.failure, let warning = budget.warning(ofNoLocks: failure) {
      events.send(.warning(warning))
    }
    return lock != nil
  }

  /// Reads the stored entry again: the contents loaded without the lock may be out of date.
  func lookUp() throws(DiskError) -> (
    StoringDecision.Found, EntryDirectory.Contents?
  ) {
    do throws(EntryDirectory.Problem) {
      let contents = try directory.load()
      let record = contents.record
      guard record.key == key.rawValue else { return (.nothing, nil) }
      policy.adopt(record)
      let found = StoringDecision.Record(
        generation: record.generation, length: record.length, validator: record.validator,
        confirmedAt: record.freshness.confirmedAt,
        isOutdated: record.freshness.isOutdated == true)
      return (.record(found), contents)
    } catch {
      switch error {
      case .empty, .broken: return (.nothing, nil)
      case .newer: return (.newer, nil)
      case .unreadable(let failure): throw failure
      }
    }
  }

  /// Continues with the stored files.
  private func resume(
    _ generation: Generation, _ contents: EntryDirectory.Contents
  ) throws -> EntryFile {
    // Interrupted syncs may have left journals: they count until the record is replaced.
    let epoch = contents.lastEpoch + 1
    let journal = try makeJournal(contents.record.generation, epoch)
    open = WrittenFiles(
      generation: generation, id: contents.record.generation, fileName: contents.record.file,
      epoch: epoch)
    let allocated = try contents.file.status().allocated
    generation.withState { $0.storage.resume(contents, journal, allocated: allocated) }
    try writeDown(generation)
    tidy()
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
        ? nil : Owner(id: contents.record.generation, fileName: contents.record.file)
    }
    let id = String(UInt64.random(in: .min ... .max), radix: 16)
    let resource = generation.entry.resource
    let ending = MediaType.fileExtension(
      mimeType: information?.mimeType, url: resource.url, documents: resource.policy.documents)
    let fileName = "\(id).\(ending)"
    let files = WrittenFiles(generation: generation, id: id, fileName: fileName, epoch: 1)
    let path = "\(directory.path)/\(fileName)"
    let recordState: StoredBytes.RecordState =
      isAlone ? .deferred : replaced == nil ? .written : .replacing
    let file: EntryFile
    var journal: JournalFile?
    do {
      file = try EntryFile(path: path, mode: .create, disk: directory.disk)
      if recordState != .deferred { journal = try makeJournal(id, 1) }
      if recordState == .written {
        try directory.write(record(generation, files, spans: .init()), durably: false)
      }
    } catch {
      // The existing record and its files remain valid.
      for name in [fileName, SpanJournal.fileName(generation: id, epoch: 1)] {
        try directory.disk.removeFile("\(directory.path)/\(name)")
      }
      throw error
    }
    open = files
    generation.withState { [journal] in $0.storage.begin(id, in: file, journal, recordState) }
    if !isAlone { try removeOthers(than: [files.owner] + [replaced].compactMap(\.self)) }
    return file
  }
}
