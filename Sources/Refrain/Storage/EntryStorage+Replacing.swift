// SPDX-License-Identifier: MIT

/// How a new generation takes the place of a stored one.
///
/// The files of the new generation are made beside those of the old one, and the old record stands.
/// Once the first bytes are written, these are synced, then the directory that names their file, then
/// the new record is put in place of the old one; only then do the old files go. So at every instant,
/// a power cut included, the record on disk names a generation whose files are all there. The files of
/// the other generation belong to nobody, and are removed by the next writer.
extension EntryStorage {
  /// A generation's name and its data file's, which together tell its files from others.
  struct Owner: Sendable {
    var id: String
    var fileName: String

    func owns(_ name: String) -> Bool {
      name == fileName || SpanJournal.epoch(of: name, generation: id) != nil
    }
  }

  /// What has become of the record of what is written to.
  func recordState(of generation: Generation) -> GenerationState.RecordState {
    open?.generation === generation ? generation.withState(\.recordState) : .written
  }

  /// The first bytes of a generation are stored: its record takes the place of the old one's. Where
  /// there is none, it comes with the journal once that many bytes are there.
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

  /// Writes a first record, and from now on where the bytes are that come, so that a killed process
  /// loses none of them.
  private func beginJournal(_ generation: Generation) throws {
    guard var files = open else { return }
    files.epoch += 1
    open = files
    let journal = try makeJournal(files.id, files.epoch)
    try directory.write(record(generation, files, spans: .init()), durably: false)
    let spans = generation.withState { state in
      let spans = Array(state.stored.ranges)
      state.journal = journal
      state.journalCount = spans.count
      state.recordState = .written
      return spans
    }
    for (number, span) in spans.enumerated() { try journal.write(span, number: number) }
  }

  /// There is no room for two generations: the old one goes before the first byte of the new one is
  /// stored.
  ///
  /// - Returns: false where there is none, or its files could not be removed.
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

  /// Removes the files of a generation: what it was to replace stays.
  func discard(
    _ files: WrittenFiles, _ recordState: GenerationState.RecordState
  ) throws(DiskError) {
    guard recordState == .replacing else { return try directory.removeFiles() }
    try removeFiles { files.owner.owns($0) }
  }

  /// Removes the files of every generation but these. The record stays.
  func removeOthers(than owners: [Owner]) throws(DiskError) {
    try removeFiles { name in
      name != EntryRecord.fileName && !owners.contains { $0.owns(name) }
    }
  }

  /// Removes what a process that ended suddenly has left of another generation.
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
    guard kept.count < names.count else { return }
    context.budget.prepareToFree()
    let mark = context.budget.freeMark(name)
    let removed = try directory.allocatedBytes(except: kept)
    try directory.removeFiles(except: kept)
    context.budget.credit(
      name, freed: removed.all - removed.read, held: removed.read, since: mark)
  }
}

extension EntryStorage.WrittenFiles {
  var owner: EntryStorage.Owner { .init(id: id, fileName: fileName) }
}
