// SPDX-License-Identifier: MIT
import Foundation

/// Looks into a cache directory, whoever is using it. Blocks: called on `IOThreads` only.
struct Inspector: Sendable {
  let context: CacheContext

  func entries() throws -> [EntrySummary] {
    try context.store.names().compactMap { try summary(named: $0) }
      .sorted { ($0.lastAccess, $0.key.rawValue) > ($1.lastAccess, $1.key.rawValue) }
  }

  func entry(for key: CacheKey) throws -> EntrySummary? {
    guard let summary = try summary(named: KeyHash.name(of: key)), summary.key == key else {
      return nil
    }
    return summary
  }

  /// For whose requests the entry stored under a key is; nil where nothing is stored.
  func selection(for key: CacheKey) -> Selection? {
    let directory = context.store.entryDirectory(named: KeyHash.name(of: key))
    guard let (record, _) = try? directory.loadRecord(), record.key == key.rawValue else {
      return nil
    }
    return Selection(
      headers: record.storedHeaders, variant: record.variant, grants: record.grants)
  }

  /// The keys of other representations of a resource. Looks at every record, where there may be any.
  func representations(of key: CacheKey) throws(DiskError) -> [CacheKey] {
    let open = context.table.openEntries.map(\.key)
    var keys = open.filter { Selection.isRepresentation($0, of: key) }
    let known = context.table.openEntry(for: key)?.current?.withState(\.selection)
    guard let selection = selection(for: key) ?? known,
      !selection.varying.isEmpty || selection.grants != [Credentials.none]
    else { return keys }
    for name in try context.store.names() {
      let directory = context.store.entryDirectory(named: name)
      guard let (record, _) = try? directory.loadRecord() else { continue }
      let other = CacheKey(rawValue: record.key)
      if Selection.isRepresentation(other, of: key), !keys.contains(other) { keys.append(other) }
    }
    return keys
  }

  private func summary(named name: String) throws -> EntrySummary? {
    let directory = context.store.entryDirectory(named: name)
    let record: EntryRecord
    var spans: RangeSet<Int64>
    do throws(EntryDirectory.Problem) {
      (record, spans) = try directory.loadRecord()
    } catch {
      switch error {
      case .empty, .newer: break
      case .broken(let why):
        context.events.send(.warning("What is stored in \(directory.path) is not used: \(why)."))
      case .unreadable(let failure):
        context.events.send(
          .warning("What is stored in \(directory.path) cannot be read now: \(failure)."))
      }
      return nil
    }
    let key = CacheKey(rawValue: record.key)
    guard let size = try context.store.measure(name), let url = URL(string: record.url) else {
      return nil
    }
    var length = record.length
    // What this process has open knows more than its record.
    if let open = context.table.openEntry(for: key)?.current {
      let (id, stored, known) = open.withState { ($0.generationID, $0.stored, $0.length) }
      if id == record.generation {
        spans.formUnion(stored)
        length = known ?? length
      }
    }
    // Nor is more claimed than the file can hold.
    let file = "\(directory.path)/\(record.file)"
    let end = min(try context.store.disk.status(of: file)?.size ?? 0, length ?? .max)
    if let last = spans.ranges.last?.upperBound, last > end {
      spans.remove(contentsOf: end..<last)
    }
    let cached = spans.byteCount
    return EntrySummary(
      key: key, url: url, length: length, mimeType: record.mimeType,
      validator: record.validator.display, spans: spans, cachedBytes: cached,
      allocatedBytes: size.allocatedBytes,
      lastAccess: Date(timeIntervalSince1970: size.lastAccess),
      isComplete: length == cached,
      isInUse: isInUse(directory),
      file: URL(filePath: file))
  }

  private func isInUse(_ directory: EntryDirectory) -> Bool {
    WriterLock.isHeld(directory)
  }

  func usage() throws -> (allocated: Int64, entries: Int) {
    let sizes = try context.store.names().compactMap { try context.store.measure($0) }
    return (sizes.reduce(0) { $0 + $1.allocatedBytes }, sizes.count)
  }

  /// The validator of what is stored under a key; nil where nothing is.
  func validator(for key: CacheKey) -> Validator? {
    let directory = context.store.entryDirectory(named: KeyHash.name(of: key))
    // What cannot be read is not there: `entry(for:)` says why.
    guard let record = try? directory.loadRecord().record, record.key == key.rawValue else {
      return nil
    }
    return record.validator
  }

  /// Drops ranges of an entry from its record: they are not what the origin sent.
  func discard(_ ranges: RangeSet<Int64>, of key: CacheKey) throws(MediaCacheError) {
    let directory = context.store.entryDirectory(named: KeyHash.name(of: key))
    do {
      guard let lock = try WriterLock.acquire(directory) else {
        throw MediaCacheError(
          .inUse, "\(key) is damaged and in use, so that nothing was dropped.",
          remedy: "Stop what plays or fetches it, then verify it again.")
      }
      defer { withExtendedLifetime(lock) {} }
      let contents = try directory.load()
      var spans = contents.spans
      for range in ranges.ranges { spans.remove(contentsOf: range) }
      try contents.file.sync()
      try replaceSpans(spans, directory, contents)
    } catch let error as MediaCacheError {
      throw error
    } catch {
      throw MediaCacheError(
        .storage, "\(key) is damaged and could not be dropped: \(error).",
        remedy: "Check the disk and its permissions; 'refrain rm' removes the entry.")
    }
  }

  /// Writes a record with these spans in place of the one that is there and its journals.
  private func replaceSpans(
    _ spans: RangeSet<Int64>, _ directory: EntryDirectory, _ contents: EntryDirectory.Contents
  ) throws {
    var record = contents.record
    record.spans = SpanList.encode(spans)
    record.epoch = contents.lastEpoch + 1
    try directory.write(record, durably: true, keepsAge: true)
    try directory.removeFiles(except: [EntryRecord.fileName, record.file])
  }

  // MARK: Verifying

  func verify(_ key: CacheKey?) throws -> [MediaCache.VerifyResult] {
    let names = try key.map { [KeyHash.name(of: $0)] } ?? context.store.names()
    return try names.compactMap { try verify(named: $0) }
  }

  private func verify(named name: String) throws -> MediaCache.VerifyResult? {
    let directory = context.store.entryDirectory(named: name)
    var result = MediaCache.VerifyResult(
      key: nil, directory: URL(filePath: directory.path), problems: [], droppedBytes: 0)
    guard let lock = try WriterLock.acquire(directory, waits: false) else {
      guard let record = try? directory.loadRecord().record else { return nil }
      result.key = CacheKey(rawValue: record.key)
      return result
    }
    let store = context.store
    store.prepareToFree()
    let before = (try? store.measure(name))?.allocatedBytes
    let mark = store.scanMark(name)
    defer {
      if let before, let after = try? store.measure(name)?.allocatedBytes ?? 0 {
        store.noteFreed(before - after, mark)
      }
      withExtendedLifetime(lock) {}
    }
    do throws(EntryDirectory.Problem) {
      let contents = try directory.load()
      result.key = CacheKey(rawValue: contents.record.key)
      result.problems = contents.warnings
      do {
        result.droppedBytes = try mend(directory, contents, &result.problems)
      } catch {
        result.problems.append("It could not be mended: \(error).")
      }
    } catch {
      switch error {
      case .newer(let version):
        result.problems = ["A later version (\(version)) wrote it; it is left alone."]
      case .unreadable(let failure):
        result.problems = ["It cannot be read now: \(failure). It is left alone."]
      case .empty, .broken:
        if case .broken(let why) = error {
          result.problems = ["It cannot be used: \(why). It was removed."]
        } else {
          result.problems = ["It has no record. It was removed."]
        }
        do {
          result.droppedBytes = try context.store.measure(name)?.allocatedBytes ?? 0
          try directory.removeFiles()
        } catch {
          result.problems.append("It could not be removed: \(error).")
        }
      }
    }
    return result
  }

  /// Drops from the record what lies in a hole of the file, and removes files that are not the
  /// entry's.
  private func mend(
    _ directory: EntryDirectory, _ contents: EntryDirectory.Contents, _ problems: inout [String]
  ) throws -> Int64 {
    let record = contents.record
    let claimed = contents.spans
    let holes = try contents.file.holes()
    var spans = claimed
    for hole in holes.ranges { spans.remove(contentsOf: hole) }
    let claimedBefore = try EntryRecord.decode(record.encoded()).1.union(claimed)
    let dropped = claimedBefore.byteCount - spans.byteCount
    if dropped > 0 { problems.append("\(dropped) bytes are not in its file; they were dropped.") }
    let foreign = try directory.disk.names(in: directory.path).filter {
      $0 != EntryRecord.fileName && $0 != record.file
        && SpanJournal.epoch(of: $0, generation: record.generation) == nil
    }
    if !foreign.isEmpty {
      problems.append("\(foreign.count) files beside it were not its own; they were removed.")
    }
    guard dropped > 0 || !foreign.isEmpty else { return 0 }
    try contents.file.sync()
    try replaceSpans(spans, directory, contents)
    return dropped
  }
}
