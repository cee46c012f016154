// SPDX-License-Identifier: MIT

/// Replaces a stored generation by a new one.
///
/// The files of the new generation are made beside those of the old one, whose record stands. Once
/// the first bytes are written, they are synced, then the directory that names their file; then the
/// new record replaces the old one, and only then are the old files removed. So the record on disk
/// always names a generation whose files are all there, even after a power cut. The next writer
/// removes files that no record names.
extension EntryStorage {
  /// The name of a generation and of its data file, which identify its files.
  struct Owner: Sendable {
    var id: String
    var fileName: String

    func owns(_ name: String) -> Bool {
      name == fileName || SpanJournal.epoch(of: name, generation: id) != nil
    }
  }

  /// Returns the state of the record of a generation; `written` if it is not being written to.
  func recordState(of generation: Generation) -> StoredBytes.RecordState {
    open?.generation === generation ? generation.withState(\.storage.recordState) : .written
  }

  /// Records the first stored bytes of a generation: its record replaces the old generation's. If
  /// there is no old one, it is written with the journal, once enough bytes are stored.
  func recordFirstBytes(_ generation: Generation) {
    do {
      switch recordState(of: generation) {
      case .written: return
      case .deferred: try beginJournal(generation)
      case .replacing: try writeDown(generation)
      }
    } catch let error as DataLost {
      distrust(generation, error.reason)
    } catch let error as DiskError where error.isMissing {
      vanish(generation)
    } catch let error as DiskError where error.isNoSpace {
      if !giveUpReplaced(generation) { writeFailed(generation, error) }
    } catch {
      writeFailed(generation, error)
    }
  }

  /// Writes a first record, and journals the spans from now on, so that a killed process loses none
  /// of them.
  private func beginJournal(_ generation: Generation) throws {
    guard var files = open else { return }
    files.epoch += 1
    open = files
    let journal = try makeJournal(files.id, files.epoch)
    try directory.write(record(generation, files, spans: .init()), durably: false)
    let spans = generation.withState { $0.storage.beginJournal(journal) }
    for (number, span) in spans.enumerated() { try journal.write(span, number: number) }
  }

  /// Removes the replaced generation before the first byte of the new one is stored, if there is no
  /// room for both.
  ///
  /// - Returns: false if there is none, or its files could not be removed.
  func giveUpReplaced(_ generation: Generation) -> Bool {
    guard let open, recordState(of: generation) == .replacing else { return false }
    do {
      try removeOthers(than: [open.owner])
      try writeDown(generation)
      return true
    } catch let error as DataLost {
      distrust(generation, error.reason)
    } catch {
      reportOutdated(error)
    }
    return false
  }

  /// Removes the files of a generation; the generation that it was to replace stays.
  func discard(
    _ files: WrittenFiles, _ recordState: StoredBytes.RecordState
  ) throws(DiskError) {
    guard recordState == .replacing else { return try removeFiles() }
    try removeFiles { files.owner.owns($0) }
  }

  /// Removes the files of every generation except `owners`. The record and marks stay.
  func removeOthers(than owners: [Owner]) throws(DiskError) {
    try removeFiles { name in
      name != EntryRecord.fileName && !EntryDirectory.isMark(name)
        && !owners.contains { $0.owns(name) }
    }
  }

  /// Removes files of other generations that a process left when it ended suddenly.
  func tidy() {
    guard let open else { return }
    do throws(DiskError) {
      try removeOthers(than: [open.owner])
    } catch {
      reportOutdated(error)
    }
  }

  private func removeFiles(where isUnwanted: (String) -> Bool) throws(DiskError) {
    let names = try directory.disk.names(in: directory.path)
    let kept = Set(names.filter { !isUnwanted($0) })
    if kept.count < names.count { try removeFiles(except: kept) }
  }

  /// Removes the directory, or every file except `kept`, and subtracts their size from the usage.
  func removeFiles(except kept: Set<String> = []) throws(DiskError) {
    let (size, read) = try directory.allocatedBytes(except: kept)
    try budget.removing(size, read: read, of: name) { () throws(DiskError) in
      held += read
      try directory.removeFiles(except: kept)
    }
  }
}

extension EntryStorage.WrittenFiles {
  var owner: EntryStorage.Owner { .init(id: id, fileName: fileName) }
}
