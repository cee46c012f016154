// SPDX-License-Identifier: MIT
public import Foundation

/// The outcome of checking an entry against its files.
public struct EntryVerification: Sendable, Hashable {
  /// The key of the entry; nil if no record names it.
  public var key: CacheKey?
  public var directory: URL
  /// The problems found, a sentence each; empty if there are none.
  public var problems: [String]
  /// Bytes dropped from the record; for a removed entry, the disk space that it used.
  public var droppedBytes: Int64
}

/// Checks entries against their files.
///
/// Most entries are intact, and finding that out takes no lock: an entry is first surveyed as it
/// is. Only one that seems damaged is locked, checked again, and repaired.
extension StoredEntries {
  /// Verifies the entry of a key, or all. Throws as `visit` does.
  func verify(_ key: CacheKey?, progress: Progress?) async throws -> [EntryVerification] {
    guard let key else { return try await visit(progress: progress) { try verify(named: $0) } }
    return try await reportingStorage {
      try await IOThreads.background.run {
        try verify(named: KeyHash.name(of: key)).map { [$0] } ?? []
      }
    }
  }

  private func verify(named name: String) throws -> EntryVerification? {
    let directory = budget.entryDirectory(named: name)
    var result = EntryVerification(
      key: nil, directory: URL(filePath: directory.path, directoryHint: .isDirectory),
      problems: [], droppedBytes: 0)
    if let found = try? directory.examine(), found.isInOrder {
      result.key = CacheKey(rawValue: found.contents.record.key)
      return result
    }
    guard let lock = try WriterLock.acquire(directory, waits: false) else {
      result.key = directory.writtenRecord.map { CacheKey(rawValue: $0.key) }
      return result.key == nil ? nil : result
    }
    defer { withExtendedLifetime(lock) {} }
    budget.changing(name) { repair(directory, &result) }
    return result
  }

  /// Checks an entry again, and repairs it.
  private func repair(_ directory: EntryDirectory, _ result: inout EntryVerification) {
    do throws(EntryDirectory.Problem) {
      let found = try directory.examine()
      let record = found.contents.record
      result.key = CacheKey(rawValue: record.key)
      let dropped = found.contents.spans.byteCount - found.held.byteCount
      if dropped > 0 {
        result.problems.append("\(dropped) bytes were missing from the data file and were dropped.")
      }
      if found.foreignFiles > 0 {
        result.problems.append(
          "\(found.foreignFiles) foreign files in the entry's directory were removed.")
      }
      if found.isInOrder { return }
      do {
        // The record is about to include spans that only a journal held.
        try directory.disk.syncFile("\(directory.path)/\(record.file)")
        try directory.replace(found.contents, claiming: found.held)
        result.droppedBytes = dropped
      } catch {
        result.problems.append("The entry could not be repaired: \(error).")
      }
    } catch {
      switch error {
      case .newer(let version):
        result.problems = ["A later version (\(version)) wrote the entry; nothing was changed."]
        return
      case .unreadable(let failure):
        result.problems = ["The entry cannot be read now and was left unchanged: \(failure)."]
        return
      case .empty: result.problems = ["The entry had no record and was removed."]
      case .broken(let why):
        result.problems = ["The entry was unusable and was removed: \(why)."]
      }
      do {
        result.droppedBytes = try budget.measure(directory.name)?.allocatedBytes ?? 0
        try directory.removeFiles()
      } catch {
        result.problems.append("The entry could not be removed: \(error).")
      }
    }
  }
}

extension EntryDirectory {
  /// What the record of an entry claims, and what its files hold.
  fileprivate struct Examination {
    var contents: Contents
    /// The claimed spans that lie neither in a hole of the data file nor beyond its end.
    var held: RangeSet<Int64>
    var foreignFiles: Int

    var isInOrder: Bool { held == contents.spans && foreignFiles == 0 }
  }

  fileprivate func examine() throws(Problem) -> Examination {
    let contents = try loadRecord()
    guard contents.data?.kind == .file else { throw .broken("its data file is missing") }
    let record = contents.record
    // A file system that cannot tell them says nothing about the entry.
    let holes = try reading { () throws(DiskError) in
      let data = try disk.open("\(path)/\(record.file)", .read)
      defer { disk.close(data) }
      return try disk.holes(in: data)
    }
    let foreign = contents.files.statuses.filter { name, _ in
      name != EntryRecord.fileName && name != record.file && !Self.isMark(name)
        && SpanJournal.epoch(of: name, generation: record.generation) == nil
    }
    return Examination(
      contents: contents, held: contents.spansInFile.subtracting(holes),
      foreignFiles: foreign.count)
  }
}
