// SPDX-License-Identifier: MIT
import Foundation

/// Records what is stored, durably: data, then record, then the name. So the record on disk never
/// claims bytes that are not in its file, even after a power cut; while a generation is replaced,
/// the record names a file that is gone, and counts as empty. The next writer removes files that no
/// record names.
extension Store {
  func makeJournal(_ files: Files) throws(DiskError) -> JournalFile {
    try JournalFile(
      path: "\(directory.path)/\(files.journalName)", bootIdentity: directory.bootIdentity,
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
      isSharable: isShared, invalidatedAt: known.invalidatedAt,
      group: generation.entry.group, spans: Array(spans.ranges),
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
          // Another program has removed the entry, perhaps with the locks: it is stored again.
          generation.withState { $0.storage.vanish() }
          endWriting()
          throw error
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
    let (stored, file, changes) = generation.withState { state in
      state.storage.beginSync(at: .now, nextJournal: next)
      return (state.stored, state.file, state.storage.changes)
    }
    open?.files = files
    do throws(DiskError) {
      try file?.sync()
    } catch {
      distrust(generation, error)
      return false
    }
    try directory.write(record(generation, files, spans: stored), durably: true)
    if writer?.isAnchored == false {
      try directory.syncParents()
      writer?.isAnchored = true
    }
    generation.withState { $0.storage.recordWritten(with: stored, changes) }
    try directory.removeOthers(than: [files.fileName, files.journalName])
    return true
  }

  // MARK: Failing

  /// Stops using unsynced bytes after a failed sync: they may be gone from memory, too. Nothing is
  /// written to this file until the entry is reopened.
  private func distrust(_ generation: Generation, _ error: DiskError) {
    generation.withState { $0.storage.distrust(error) }
    warn("Storing \(url) stopped: \(error).")
    guard let files = open?.files else { return }
    // What is written now must not be recorded by a later sync, which would report nothing.
    open = nil
    let isEmpty = generation.withState(\.stored.isEmpty)
    attempt {
      if isEmpty, try !directory.isPinned { return try removeFiles() }
      // The journals claim those bytes.
      try directory.removeOthers(than: [files.fileName])
    }
  }

  /// Stops storing for some seconds after a failed write.
  func writeFailed(_ generation: Generation, _ error: any Error) {
    let failure = error as? DiskError
    generation.refuse(
      failure.map { $0.isNoSpace ? .noRoom : .disk($0) } ?? .noRoom, for: .seconds(5))
    warn("\(url) plays without being stored for now: \(error).")
  }

  // MARK: Removing files

  /// Removes the entry's files, but the record and its marks if it `keepsRecord`, and subtracts
  /// their size from the usage. What is being read of them stays counted, as reserved: no
  /// measurement sees it any more.
  func removeFiles(keepsRecord: Bool = false) throws(DiskError) {
    let read = try directory.bytesInUse()
    // Before and after: what grew until now is not taken for a part of what is freed.
    countGrowth()
    held += read
    budget.hold(read)
    defer { countGrowth() }
    try keepsRecord ? directory.removeOthers(than: []) : directory.removeFiles()
  }

  private func countGrowth() {
    guard let before = writer?.counted else { return }
    writer?.counted = budget.conclude(name, since: before)
  }
}
