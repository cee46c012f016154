// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// Records what is stored, durably: data, then record, then the name. So the record on disk never
/// claims bytes that are not in its file; while a generation is replaced, it names a file that is
/// gone, and counts as empty. The next writer removes files that no record names.
extension Store {
  func record(
    _ generation: Generation, _ files: Files, spans: RangeSet<Int64>
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
      variant: known.variant,
      isSharable: isShared, invalidatedAt: known.invalidatedAt,
      group: generation.entry.group, spans: Array(spans.ranges),
      epoch: files.epoch)
  }

  /// Returns the delay after which to call it again; nil for no earlier than the next bytes.
  func sync(_ generation: Generation) -> Duration? {
    var isDone = false
    if open?.generation === generation {
      attempt {
        do {
          isDone = try writeDown(generation)
        } catch let error as DiskError where error.isMissing {
          // Another program has removed the entry, perhaps with the locks: it is stored again.
          generation.withState { $0.storage.vanish() }
          endWriting()
          throw error
        }
      }
    }
    return generation.withState { [isDone] in $0.storage.syncs.end(at: .now, isDone: isDone) }
  }

  /// Returns false if bytes of the data file may be lost, and storing has stopped.
  @discardableResult
  func writeDown(_ generation: Generation, isLast: Bool = false) throws -> Bool {
    guard var files = open?.files else { return true }
    files.epoch += 1
    // Commits from here on go to the next journal. A crash before the record is replaced leaves the
    // old record and both journals; a crash after it, the new record and the next journal.
    let next = isLast ? nil : try JournalFile(in: directory, named: files.journalName)
    let (stored, file, changes) = generation.withState { state in
      state.storage.beginSync(at: .now, nextJournal: next)
      return (state.stored, state.file, state.storage.changes)
    }
    open?.files = files
    do throws(DiskError) {
      try file?.sync()
    } catch {
      distrust(generation, files, error)
      return false
    }
    try directory.write(record(generation, files, spans: stored), durably: true)
    try directory.syncParents()
    generation.withState { $0.storage.recordWritten(with: stored, changes) }
    try directory.removeOthers(than: [files.fileName, files.journalName])
    return true
  }

  /// Stops using unsynced bytes after a failed sync, which fsync(2) reports only once: they may be
  /// gone from memory, too.
  private func distrust(_ generation: Generation, _ files: Files, _ error: DiskError) {
    generation.withState { $0.storage.distrust(error) }
    warn("Storing \(url) stopped: \(error).")
    // What is written now must not be recorded by a later sync, which would report nothing.
    open = nil
    let isEmpty = generation.withState(\.stored.isEmpty)
    attempt {
      if isEmpty, try !directory.isPinned { return try removeFiles() }
      // The journals claim those bytes.
      try directory.removeOthers(than: [files.fileName])
    }
  }

  func writeFailed(_ generation: Generation, _ error: any Error) {
    let failure = error as? DiskError
    generation.refuse(
      failure.map { $0.isNoSpace ? .noRoom : .disk($0) } ?? .noRoom, for: .seconds(5))
    warn("\(url) plays without being stored for now: \(error).")
  }

  /// Called when the last holder has left.
  func finish(_ generation: Generation) {
    attempt { try writeLast(generation) }
    // Cancelled readers that were not released keep the generation, but not its file open.
    generation.withState { state in
      state.storage.stopWriting()
      state.storage.releaseFile()
    }
    // The disk's clock set the times of written files.
    if open != nil { budget.touch(name) }
    let keep = generation.entry.resource.policy.keep.map { max(0, $0.components.seconds) }
    let isMarked = attempt { try directory.mark(keep: keep) }
    (overhead, held) = (overhead + held, 0)
    endWriting()
    if keep != nil || isMarked == true { _ = try? budget.remeasure(name) }
    budget.index.withLock { [name] in $0.open[name] = nil }
    // The time of earlier entries may be over.
    if keep != nil {
      Task(executorPreference: IOThreads.background) { [evictor] in
        await evictor.removeOverdue()
      }
    }
  }

  private func writeLast(_ generation: Generation) throws {
    let (isStale, hasUnsynced, isUnrepeatable, isEmpty, mayBeForbidden) = generation.withState {
      (
        $0.storage.isRecordStale, $0.stored != $0.storage.synced, $0.isUnrepeatable,
        $0.stored.isEmpty && !$0.isComplete,
        $0.freshness?.noStore == true || $0.storage.replaced != nil
      )
    }
    if let open, open.generation === generation {
      if try isUnrepeatable || isEmpty && !directory.isPinned {
        try removeFiles()
      } else if isStale || hasUnsynced {
        try writeDown(generation, isLast: true)
      } else {
        // Nothing was written to the journal since the record was written.
        try directory.removeOthers(than: [open.files.fileName])
      }
    } else if isStale {
      try refreshRecord(generation)
    }
    // Not while another process holds the lock, and may be about to pin it.
    if mayBeForbidden, let record = directory.writtenRecord, record.isSharable || !isShared,
      !mayUse(record), try becomeWriter()
    {
      try removeFiles()
    }
  }

  /// Updates a record without stored bytes of its own, unless another process writes: with what is
  /// newly known, or as outdated if the origin has sent another version since.
  private func refreshRecord(_ generation: Generation) throws {
    let (id, replaced) = generation.withState { ($0.generationID, $0.storage.replaced) }
    guard id ?? replaced != nil, try becomeWriter(), var record = directory.writtenRecord else {
      return
    }
    if record.generation == id {
      // The journals still add to its spans.
      let files = Files(id: record.generation, fileName: record.file, epoch: record.epoch)
      let old = record
      record = try self.record(generation, files, spans: RangeSet(record.spans))
      // Another cache may have stored bytes for one person, or learnt the length.
      (record.isSharable, record.length) = (old.isSharable, old.length ?? record.length)
    } else if record.generation == replaced {
      record.freshness.isOutdated = true
    } else {
      return
    }
    try directory.write(record, durably: true, keepsAge: true)
  }

  /// Whether a stored response may be used: one that the origin forbids to store, only with a pin.
  nonisolated func mayUse(_ record: EntryRecord) -> Bool {
    // Stored by a private cache: the response may be restricted to one user.
    if isShared, !record.isSharable { return false }
    return !record.freshness.noStore || !isShared && (try? directory.isPinned) == true
  }

  /// Its validator could confirm bytes that the origin does not have any more.
  func removeContradicted(_ generation: Generation) {
    attempt {
      guard let id = generation.withState(\.generationID), try becomeWriter(),
        directory.writtenRecord?.generation == id
      else { return }
      open = nil
      try directory.disk.remove(directory.recordPath)
    }
  }

  /// Makes an empty generation the current one, and removes the files of the one before, whose
  /// readers continue; returns whether there were any. Responses to requests from before `time`
  /// have to be confirmed.
  func remove(_ entry: Entry, at time: Date) throws -> Bool {
    while !entry.isClosed, let last = entry.current {
      var next = entry.emptyState(after: last)
      next.representation.invalidatedAt = time
      guard replace(last, of: entry, by: next) else { continue }
      guard try becomeWriter() else {
        if try directory.disk.status(of: directory.path) == nil { return false }
        throw MediaCacheError(
          .inUse, "Another process is writing \(key).", remedy: "Stop it, then try again.")
      }
      try removeFiles()
      endWriting()
      return true
    }
    return false
  }

  /// After another process has removed or replaced the files of the current generation, its readers
  /// continue, and further ones begin with what is stored now.
  func noticeRemoval(of entry: Entry) {
    // No other process changes the files of a writer.
    guard writer == nil, let last = entry.current, last.isRemoved else { return }
    if replace(last, of: entry, by: load(entry.starter.emptyState(of: entry.resource)).state) {
      events.send(.generationChanged(key))
    }
  }

  private func replace(_ last: Generation, of entry: Entry, by next: GenerationState) -> Bool {
    guard entry.startAnew(after: last, with: next) else { return false }
    last.withState { $0.filesRemoved() }
    return true
  }

  /// Removes the entry's files, or all but the record and the marks, and subtracts their size from
  /// the usage, but for what is being read of them: no measurement sees it any more.
  func removeFiles(keepsRecord: Bool = false) throws(DiskError) {
    open = nil
    let read = try directory.bytesInUse()
    // Before and after: what grew until now is not taken for a part of what is freed.
    countGrowth()
    held += read
    budget.hold(read)
    defer { countGrowth() }
    try keepsRecord ? directory.removeOthers(than: []) : directory.removeFiles()
  }

  private func countGrowth() { if writer != nil { budget.conclude(name, isLast: false) } }
}
