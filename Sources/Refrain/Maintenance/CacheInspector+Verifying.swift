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
extension CacheInspector {
  func verify(progress: Sweep.Progress?) async throws -> [EntryVerification] {
    try await Sweep(budget: budget).run(progress: progress) { names, done in
      try names.compactMap { name in
        defer { done() }
        return try verify(named: name)
      }
    }
    .flatMap(\.self)
  }

  func verify(_ key: CacheKey) throws -> EntryVerification? {
    try verify(named: KeyHash.name(of: key))
  }

  private func verify(named name: String) throws -> EntryVerification? {
    let directory = budget.entryDirectory(named: name)
    var result = EntryVerification(
      key: nil, directory: URL(filePath: directory.path, directoryHint: .isDirectory),
      problems: [], droppedBytes: 0)
    if let key = directory.keyIfInOrder() {
      result.key = key
      return result
    }
    guard let lock = try WriterLock.acquire(directory, waits: false) else {
      guard let record = try? directory.loadRecord().record else { return nil }
      result.key = CacheKey(rawValue: record.key)
      return result
    }
    defer { withExtendedLifetime(lock) {} }
    budget.changing(name) { repair(directory, &result) }
    return result
  }

  /// Checks an entry again, and repairs it.
  private func repair(_ directory: EntryDirectory, _ result: inout EntryVerification) {
    do throws(EntryDirectory.Problem) {
      let contents = try directory.load()
      result.key = CacheKey(rawValue: contents.record.key)
      result.problems = contents.warnings
      do {
        result.droppedBytes = try repair(directory, contents, &result.problems)
      } catch {
        result.problems.append("The entry could not be repaired: \(error).")
      }
    } catch {
      switch error {
      case .newer(let version):
        result.problems = ["A later version (\(version)) wrote the entry; nothing was changed."]
      case .unreadable(let failure):
        result.problems = ["The entry cannot be read now and was left unchanged: \(failure)."]
      case .empty, .broken:
        if case .broken(let why) = error {
          result.problems = ["The entry was unusable and was removed: \(why)."]
        } else {
          result.problems = ["The entry had no record and was removed."]
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

  /// Removes spans that lie in a hole of the file from the record, and deletes foreign files.
  private func repair(
    _ directory: EntryDirectory, _ contents: EntryDirectory.Contents, _ problems: inout [String]
  ) throws -> Int64 {
    let record = contents.record
    let claimed = contents.spans
    let holes = try contents.file.holes()
    var spans = claimed
    for hole in holes.ranges { spans.remove(contentsOf: hole) }
    let claimedBefore = claimed.union(SpanList.decode(record.spans) ?? RangeSet())
    let dropped = claimedBefore.byteCount - spans.byteCount
    if dropped > 0 {
      problems.append("\(dropped) bytes were missing from the data file and were dropped.")
    }
    let foreign = try directory.disk.names(in: directory.path).filter {
      !EntryDirectory.isOwn($0, of: record)
    }
    if !foreign.isEmpty {
      problems.append("\(foreign.count) foreign files in the entry's directory were removed.")
    }
    guard dropped > 0 || !foreign.isEmpty else { return 0 }
    try contents.file.sync()
    try directory.replaceSpans(of: record, by: spans)
    return dropped
  }
}

extension EntryDirectory {
  /// Returns the key of an entry whose files hold everything that its record claims, without
  /// foreign files; nil for any other entry, or if this cannot be determined.
  fileprivate func keyIfInOrder() -> CacheKey? {
    guard let survey = try? survey(), survey.data?.kind == .file,
      survey.spansInFile == survey.spans,
      survey.files.statuses.allSatisfy({ Self.isOwn($0.name, of: survey.record) }),
      let holes = try? holes(in: survey.record.file), survey.spans.isDisjoint(holes)
    else { return nil }
    return CacheKey(rawValue: survey.record.key)
  }

  private func holes(in file: String) throws(DiskError) -> RangeSet<Int64> {
    let descriptor = try disk.open("\(path)/\(file)", .read)
    defer { disk.close(descriptor) }
    return try disk.holes(in: descriptor)
  }

  /// Whether a file belongs to the entry of that record.
  fileprivate static func isOwn(_ name: String, of record: EntryRecord) -> Bool {
    name == EntryRecord.fileName || name == record.file || isMark(name)
      || SpanJournal.epoch(of: name, generation: record.generation) != nil
  }
}
