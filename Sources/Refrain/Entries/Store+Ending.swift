// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// Ends writing to an entry: its last holder leaves, the origin has another version, or the entry
/// is removed, here or by another process.
extension Store {
  /// Writes the final record, releases the lock, and cleans up.
  func finish(_ generation: Generation) {
    if let open, open.generation === generation {
      attempt { try finish(open) }
    } else {
      // A record with only new freshness is worth writing if no other process writes.
      refreshRecord(generation, isLast: true)
      let replacesNothing = generation.withState { $0.storage.replaced == nil }
      if !isShared, !replacesNothing, let record = directory.writtenRecord, !mayUse(record) {
        // It may not be stored: a process that ended suddenly left it. Not if another process holds
        // the lock, and may be about to pin it: the next closing tries again.
        attempt { if try becomeWriter() { try removeFiles() } }
      }
    }
    // Cancelled readers that were not released keep the generation, but not its file open.
    generation.withState { state in
      state.storage.stopWriting()
      state.storage.releaseFile()
    }
    // The disk's clock set the times of written files.
    if open != nil { budget.touch(name) }
    let policy = generation.entry.withPolicy { $0 }
    if policy.keep != policy.marked {
      attempt {
        guard try directory.disk.status(of: directory.recordPath) != nil else { return }
        try directory.mark(keep: policy.keep)
      }
    }
    endWriting(isClosed: true)
    if policy.keep != nil || policy.marked != nil { budget.remeasure(name) }
    budget.index.withLock { [name] in $0.markClosed(name) }
    // The time of earlier entries may be over.
    if policy.keep != nil {
      Task(executorPreference: IOThreads.background) { [evictor] in
        await evictor.removeOverdue()
      }
    }
  }

  private func finish(_ open: (generation: Generation, files: Files)) throws {
    let (isStale, isUnrepeatable, isEmpty) = open.generation.withState { state in
      (
        state.storage.isRecordStale || state.stored != state.storage.synced,
        state.isUnrepeatable, state.stored.isEmpty && !state.isComplete
      )
    }
    let isWorthless = isEmpty && (try? directory.isPinned) == false
    if isWorthless || isUnrepeatable || isUnwanted(open.generation) {
      try removeFiles()
    } else if isStale {
      try writeDown(open.generation, isLast: true)
    } else {
      // Nothing was written to the journal since the record was written.
      try directory.removeOthers(than: [open.files.fileName])
    }
  }

  // MARK: A record that is out of date

  /// Marks a generation as outdated after the origin sent another one: a later opening revalidates
  /// it first. A contradicted one is not opened again.
  func outdate(_ generation: Generation, isContradicted: Bool) {
    let isUnrepeatable = generation.withState { state in
      state.representation.outdate()
      state.storage.noteRecordStale()
      return state.isUnrepeatable
    }
    let isWriter = writer != nil
    refreshRecord(generation, removes: isContradicted || isUnrepeatable)
    // Nothing may be stored until the entry is closed, and other processes wait for the lock.
    if !isWriter { endWriting() }
  }

  /// Until the entry is closed (`isLast`), a response may be waiting for its pin.
  private func refreshRecord(
    _ generation: Generation, removes: Bool = false, isLast: Bool = false
  ) {
    let (id, known, isStale, isForbidden) = generation.withState { state in
      (state.generationID, state.known, state.storage.isRecordStale, state.isForbidden)
    }
    guard let id, let known else { return }
    let isUnwanted = (isLast || isForbidden) && isUnwanted(generation)
    // A document that has become a part of another group: all that it names belongs to that group by
    // its record. Other resources by themselves are not worth a look.
    let group = generation.entry.group
    let hasMoved =
      known.freshness.pace != nil && group != nil && directory.writtenRecord?.group != group
    guard isStale || isUnwanted || hasMoved, attempt({ try becomeWriter() }) == true,
      let old = directory.writtenRecord, old.generation == id
    else { return }
    generation.entry.withPolicy { $0.adopt(old) }
    attempt {
      if isUnwanted { return try removeFiles() }
      if removes { return try directory.disk.remove(directory.recordPath) }
      // The journals still add to its spans.
      let files = Files(id: old.generation, fileName: old.file, epoch: old.epoch)
      var record = try record(generation, files, spans: .init())
      (record.spans, record.isSharable) = (old.spans, old.isSharable)
      // Whoever wrote them knew at least as much.
      record.length = old.length ?? record.length
      (record.mimeType, record.supportsRanges) = (old.mimeType, old.supportsRanges)
      let replacements = record.validator.replacements
      record.validator = old.validator
      record.validator.replacements = replacements
      try directory.write(record, durably: true, keepsAge: true)
    }
  }

  // MARK: Responses that may not be stored

  private func isUnwanted(_ generation: Generation) -> Bool {
    generation.withState { $0.freshness?.noStore == true } && !isKeptByPin
  }

  private nonisolated var isKeptByPin: Bool {
    !isShared && (try? directory.isPinned) == true
  }

  nonisolated func mayUse(_ record: EntryRecord) -> Bool {
    // Stored by a private cache: the response may be restricted to one user.
    if isShared, !record.isSharable { return false }
    return !record.freshness.noStore || isKeptByPin
  }

  // MARK: Removal

  /// Makes an empty generation the current one, and removes the files of the one before, whose
  /// readers continue; returns whether there were any. Responses to requests from before `time`
  /// have to be confirmed. Throws `.inUse` if another process is writing the entry.
  func remove(_ entry: Entry, at time: Date) throws -> Bool {
    while !entry.isClosed, let last = entry.current {
      var next = entry.emptyState(after: last)
      next.representation.invalidatedAt = time
      guard entry.startAnew(after: last, with: next) else { continue }
      last.withState { $0.storage.refuse(.purged) }
      guard try becomeWriter() else {
        if try directory.disk.status(of: directory.path) == nil { return false }
        throw MediaCacheError(
          .inUse, "Another process is writing \(key).", remedy: "Stop it, then try again.")
      }
      try removeFiles()
      // Another one may have begun to store since: its files are gone, too, and so is the lock.
      if let written = open?.generation, written !== last {
        written.withState { $0.filesRemoved() }
      }
      endWriting()
      last.withState { state in
        state.filesRemoved()
        if state.readers.isEmpty { state.supersede() }
      }
      return true
    }
    return false
  }

  // MARK: Other processes

  /// Notices that another process has removed or replaced the files of the current generation: its
  /// readers continue, and further ones begin with what is stored now.
  func noticeRemoval(of entry: Entry) {
    // No other process changes the files of a writer.
    guard writer == nil, let last = entry.current, last.isRemoved else { return }
    var (next, found) = load(entry.emptyState())
    if let found { entry.withPolicy { $0.adopt(found) } }
    if next.generationID == nil { next.representation.invalidatedAt = entry.now.wall }
    next.storage.replaced = next.storage.replaced ?? last.withState(\.storage.last)
    guard entry.startAnew(after: last, with: next) else { return }
    last.withState { state in
      state.storage.refuse(.purged)
      state.filesRemoved()
      if state.readers.isEmpty { state.supersede() }
    }
    events.send(.generationChanged(key))
  }
}
