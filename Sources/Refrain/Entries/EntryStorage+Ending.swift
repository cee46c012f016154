// SPDX-License-Identifier: MIT
import Foundation

/// Ends writing to an entry: its last holder leaves, the origin has another version, or the entry
/// is removed.
extension EntryStorage {
  /// Writes the final record, releases the lock, and cleans up.
  func finish(_ generation: Generation) {
    if let open, open.generation === generation {
      do {
        try finish(generation, open)
      } catch let error as DataLost {
        distrust(generation, error.reason)
      } catch {
        reportOutdated(error)
        removeUnrecorded(generation)
      }
    } else {
      // A record with only new freshness is worth writing if no other process writes.
      refreshRecord(generation, isLast: true)
      if !generation.withState(\.storage.replaced.isEmpty) { removeLeftOver() }
    }
    // Cancelled readers that were not released keep the generation, but must not keep the file
    // open.
    generation.withState { state in
      state.storage.stopWriting()
      state.storage.releaseFile()
    }
    // The disk's clock set the times of written files.
    if open != nil { budget.touch(name) }
    open = nil
    let isBrief = policy.isBrief
    markKeep()
    concludeSize(isClosed: true)
    budget.markClosed(name, isBrief: isBrief)
    lock = nil
    // Those before it may be over.
    if isBrief {
      Task(executorPreference: IOThreads.background) { [evictor] in
        await evictor.removeOverdue()
      }
    }
  }

  /// Marks how long the entry stays, if it is stored.
  private func markKeep() {
    do throws(DiskError) {
      try policy.mark { keep throws(DiskError) in
        guard try directory.disk.status(of: directory.recordPath) != nil else { return }
        try directory.mark(keep: keep)
      }
    } catch {
      if !error.isRefused { reportOutdated(error) }
    }
  }

  private func finish(_ generation: Generation, _ files: WrittenFiles) throws {
    let (isStale, isWorthless, journal, isUnrepeatable, recordState) = generation.withState {
      state in
      (
        state.storage.isRecordStale || state.stored != state.storage.synced
          || state.storage.recordState != .written,
        state.storage.recordState != .written && state.stored.isEmpty && !state.isComplete,
        state.storage.journal,
        state.isUnrepeatable, state.storage.recordState
      )
    }
    if isUnrepeatable || isWorthless || isUnwanted(generation) {
      try discard(files, recordState)
    } else if isStale {
      try writeDown(generation, isLast: true)
    } else if let journal {
      // Nothing was written to it since the record was written.
      try directory.disk.removeFile(journal.path)
    }
  }

  /// Removes files that no record names, which are useless.
  private func removeUnrecorded(_ generation: Generation) {
    let recordState = recordState(of: generation)
    guard let open, recordState != .written else { return }
    do throws(DiskError) {
      try discard(open, recordState)
    } catch {
      reportOutdated(error)
    }
  }

  /// Marks a generation as outdated after the origin sent another one: a later opening revalidates
  /// it first. A contradicted one is not opened again.
  func outdate(_ generation: Generation, isContradicted: Bool) {
    let (isStored, isUnrepeatable) = generation.withState { state in
      state.representation.outdate()
      state.storage.noteRecordStale()
      return (state.generationID != nil, state.isUnrepeatable)
    }
    if isStored { refreshRecord(generation, removes: isContradicted || isUnrepeatable) }
  }

  /// Whether a response may not be stored, and no pin keeps it.
  private func isUnwanted(_ generation: Generation) -> Bool {
    generation.withState { $0.freshness?.noStore == true } && !isKeptByPin
  }

  /// Removes a response that may not be stored and has no pin: a process that ended suddenly left
  /// it.
  private func removeLeftOver() {
    guard !isShared, !isKeptByPin,
      (try? directory.loadRecord())?.record.freshness.noStore == true
    else { return }
    // It fails if another process holds the lock, and may be about to pin it. Bytes that stay are not
    // used, and the next closing tries again.
    _ = try? removeFiles(nil)
  }

  /// - Parameter isLast: whether the entry is being closed. Until then, a response may be waiting
  ///   for its pin.
  private func refreshRecord(
    _ generation: Generation, removes: Bool = false, isLast: Bool = false
  ) {
    let (isStale, id, known, variant, replacements) = generation.withState { state in
      (
        state.storage.isRecordStale, state.generationID, state.known,
        state.representation.variant, state.validator.replacements
      )
    }
    guard let id, let known else { return }
    let isUnwanted =
      (isLast || generation.withState(\.isForbidden)) && isUnwanted(generation)
    guard isStale || isUnwanted || isMoved(known, generation) else { return }
    let freshness = known.freshness
    let held: WriterLock?
    do throws(DiskError) {
      if let lock { held = lock } else { held = try WriterLock.acquire(directory) }
    } catch {
      // A read-only directory is not kept up to date.
      if !error.isRefused {
        reportOutdated(error)
      }
      return
    }
    guard let held else { return }
    defer { withExtendedLifetime(held) {} }
    guard var (record, _) = try? directory.loadRecord(), record.generation == id else { return }
    record.url = generation.entry.resource.url.withoutUserInfo.absoluteString
    record.finalURL = known.information.finalURL.absoluteString
    record.freshness = freshness
    record.validator.replacements = replacements
    record.headers = known.headers.fields.flatMap { [$0.name, $0.value] }
    record.variant = variant
    record.invalidatedAt = known.invalidatedAt
    policy.adopt(record)
    record.group = policy.record(generation.entry.resource)
    func change() throws {
      if isUnwanted { return try directory.removeFiles() }
      if removes { return try directory.disk.removeFile(directory.recordPath) }
      try directory.write(record, durably: true, keepsAge: true)
    }
    do {
      // If the entry is being written to, `concludeSize` counts everything in the end.
      if sizeBefore == nil { try budget.changing(name, change) } else { try change() }
    } catch {
      reportOutdated(error)
    }
  }

  /// Whether the response is a document that has become a part of another group: all that it names
  /// belongs to that group by its record. Other resources by themselves are not worth a write.
  private func isMoved(_ known: StoredResponse, _ generation: Generation) -> Bool {
    known.freshness.pace != nil && policy.isOutdated(for: generation.entry.resource)
  }

  /// Makes an empty generation the current one, and removes the files of the one before: nothing of
  /// that one is stored or given to a further reader. Its readers continue.
  ///
  /// - Returns: whether there were files.
  /// - Throws: `DiskError`; `MediaCacheError`, `.inUse` if another process is writing the entry.
  func remove(_ entry: Entry, at time: Date) throws -> Bool {
    guard let last = entry.startAnew(at: time) else { return false }
    last.withState { $0.storage.forbid(.forGood, .purged) }
    let wasStored = try removeFiles(last)
    // Without readers, its requests are of no use.
    if last.withState(\.readers.isEmpty) { last.perform { $0.supersede() } }
    return wasStored
  }

  /// Removes the entry's files; readers continue with their open file.
  ///
  /// - Parameter generation: the one whose files they are, as far as the caller knows.
  private func removeFiles(_ generation: Generation?) throws -> Bool {
    if lock == nil { lock = try WriterLock.acquire(directory) }
    guard lock != nil else {
      if try directory.disk.status(of: directory.path) == nil { return false }
      throw MediaCacheError(
        .inUse, "Another process is writing \(key).", remedy: "Stop it, then try again.")
    }
    try noteSize()
    try removeFiles()
    generation?.withState { $0.filesRemoved() }
    // Another one may have begun to store since the caller has looked: its files are gone, too, and
    // so is the lock.
    if let written = open?.generation, written !== generation {
      written.withState { $0.filesRemoved() }
    }
    concludeSize(isClosed: false)
    open = nil
    isAnchored = false
    lock = nil
    return true
  }

  /// Whether a pin on disk keeps the files of a response that may not be stored.
  nonisolated var isKeptByPin: Bool {
    !isShared && (try? directory.isPinned) == true
  }

  /// Whether a stored response may be used.
  nonisolated func mayUse(_ record: EntryRecord) -> Bool {
    // Stored by a private cache: the response may be restricted to one user.
    if isShared, record.isSharable != true { return false }
    return !record.freshness.noStore || isKeptByPin
  }
}
