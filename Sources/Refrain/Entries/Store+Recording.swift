// SPDX-License-Identifier: MIT
import Foundation

/// Records what is stored, durably: data, then record, then the name.
///
/// The files of a new generation are made beside those of the one that it replaces, whose record
/// stands. Once the first bytes are written, they are synced, then the directory that names their
/// file; then the new record replaces the old one, and only then are the old files removed. So the
/// record on disk always names a generation whose files are all there, even after a power cut. The
/// next writer removes files that no record names.
extension Store {
  func makeJournal(_ files: Files) throws(DiskError) -> JournalFile {
    let name = SpanJournal.fileName(generation: files.id, epoch: files.epoch)
    return try JournalFile(
      path: "\(directory.path)/\(name)", bootIdentity: directory.bootIdentity,
      disk: directory.disk)
  }

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
      variant: known.selection.variant,
      isSharable: isShared ? true : nil, invalidatedAt: known.invalidatedAt,
      group: generation.entry.group, spans: SpanList.encode(spans),
      epoch: files.epoch)
  }

  // MARK: Syncing

  /// Makes the bytes stored so far survive a power cut. Returns the delay after which to call it
  /// again; nil for no earlier than the next bytes.
  func sync(_ generation: Generation) -> Duration? {
    var isDone = false
    if open?.generation === generation {
      attempt {
        do {
          isDone = try writeDown(generation)
        } catch let error as DiskError where error.isMissing {
          vanish(generation)
        }
      }
    }
    return generation.withState { [isDone] in $0.storage.endSync(at: .now, isDone: isDone) }
  }

  /// Syncs the data and writes the record. Returns false if bytes of the data file may be lost, and
  /// storing has stopped: fsync(2) reports that only once.
  @discardableResult
  func writeDown(_ generation: Generation, isLast: Bool = false) throws -> Bool {
    guard var files = open?.files else { return true }
    files.epoch += 1
    // Commits from here on go to the next journal. A crash before the record is replaced leaves the
    // old record and both journals; a crash after it, the new record and the next journal.
    let next = isLast ? nil : try makeJournal(files)
    let (stored, file, isReplacing, changes) = generation.withState { state in
      state.storage.beginSync(at: .now, nextJournal: next)
      return (state.stored, state.file, state.storage.isReplacing, state.storage.changes)
    }
    open?.files = files
    do throws(DiskError) {
      try file?.sync()
    } catch {
      distrust(generation, error)
      return false
    }
    // A record must not replace another until its data file's name survives a power cut.
    if isReplacing { try directory.disk.syncDirectory(directory.path) }
    try directory.write(record(generation, files, spans: stored), durably: true)
    if writer?.isAnchored == false {
      try directory.syncParents()
      writer?.isAnchored = true
    }
    generation.withState { $0.storage.recordWritten(with: stored, changes) }
    try directory.removeJournals(of: files.id, before: files.epoch)
    if isReplacing { try removeOthers(than: [files]) }
    return true
  }

  // MARK: Replacing a generation

  /// Whether a generation is being written whose record has not replaced another's yet.
  func isReplacing(_ generation: Generation) -> Bool {
    open?.generation === generation && generation.withState(\.storage.isReplacing)
  }

  /// Records the first stored bytes of a generation: its record replaces the old generation's.
  func replaceRecord(_ generation: Generation) {
    guard isReplacing(generation) else { return }
    do {
      try writeDown(generation)
    } catch let error as DiskError where error.isMissing {
      vanish(generation)
    } catch let error as DiskError where error.isNoSpace {
      if !giveUpReplaced(generation) { writeFailed(generation, error) }
    } catch {
      writeFailed(generation, error)
    }
  }

  /// Removes the replaced generation before any byte of the new one is stored, for lack of room for
  /// both. Returns false if there is none, or its files could not be removed.
  func giveUpReplaced(_ generation: Generation) -> Bool {
    guard let files = open?.files, isReplacing(generation) else { return false }
    return attempt {
      try removeOthers(than: [files])
      return try writeDown(generation)
    } ?? false
  }

  // MARK: Failing

  /// Stops using unsynced bytes after a failed sync: they may be gone from memory, too. Nothing is
  /// written to this file until the entry is reopened.
  private func distrust(_ generation: Generation, _ error: DiskError) {
    let isReplacing = isReplacing(generation)
    generation.withState { $0.storage.distrust(error) }
    warn("Storing \(url) stopped: \(error).")
    guard let files = open?.files else { return }
    open = nil
    let isEmpty = generation.withState(\.stored.isEmpty)
    attempt {
      if isReplacing || isEmpty, try isReplacing || !directory.isPinned {
        return try discard(files, isReplacing: isReplacing)
      }
      try directory.removeJournals(of: files.id, before: .max)
    }
  }

  /// Starts over after another program has removed the entry's directory.
  private func vanish(_ generation: Generation) {
    generation.withState { $0.storage.vanish() }
    warn(
      "Another program removed the entry of \(url) (\(directory.path)); the resource is stored "
        + "again.")
    // The locked file may be gone, too.
    endWriting()
  }

  /// Stops storing for some seconds after a failed write.
  func writeFailed(_ generation: Generation, _ error: any Error) {
    let failure = error as? DiskError
    generation.refuse(
      failure.map { $0.isNoSpace ? .noRoom : $0.isRefused ? .readOnly : .disk($0) } ?? .noRoom,
      for: .seconds(5))
    warn("\(url) plays without being stored for now: \(error).")
  }

  // MARK: Removing files

  /// Removes the files of a generation; the generation that it was to replace stays.
  func discard(_ files: Files, isReplacing: Bool) throws(DiskError) {
    guard isReplacing else { return try removeFiles() }
    try removeFiles { files.owns($0) }
  }

  /// Removes the files of every other generation. The record and marks stay.
  func removeOthers(than owners: [Files]) throws(DiskError) {
    try removeFiles { name in
      name != EntryRecord.fileName && !EntryDirectory.isMark(name)
        && !owners.contains { $0.owns(name) }
    }
  }

  /// Removes files, and the directory if none is left; subtracts their size from the usage. What is
  /// being read of it stays counted, as reserved: no measurement sees it any more.
  func removeFiles(where isUnwanted: (String) -> Bool = { _ in true }) throws(DiskError) {
    let names = try directory.disk.names(in: directory.path)
    let isWhole = names.allSatisfy(isUnwanted)
    guard isWhole || names.contains(where: isUnwanted) else { return }
    let read = try directory.bytesInUse(where: isUnwanted)
    // Before and after: what grew until now is not taken for a part of what is freed.
    countGrowth()
    held += read
    budget.hold(read)
    defer { countGrowth() }
    try isWhole ? directory.removeFiles() : directory.removeFiles(where: isUnwanted)
  }

  private func countGrowth() {
    guard let before = writer?.counted else { return }
    writer?.counted = budget.conclude(name, since: before)
  }
}
