// SPDX-License-Identifier: MIT

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The files of one entry: a directory with a sidecar, a data file and, while the entry is written
/// to, a journal. Every method blocks; call them on `IOThreads` only.
struct EntryDirectory: Sendable {
  let path: String
  let disk: any Disk
  /// The identity of the current boot.
  let bootIdentity: String
  /// Shared by all entries of a store.
  let locks: WriterLocks

  /// The contents of an entry as found on opening.
  struct Contents: Sendable {
    var record: EntryRecord
    /// The readable bytes: synced, or written since the machine was booted.
    var spans: RangeSet<Int64>
    /// The part of `spans` that the sidecar itself records.
    var syncedSpans: RangeSet<Int64>
    var file: EntryFile
    /// The highest number of the record and the journals: the next one written gets a higher
    /// number.
    var lastEpoch: Int
    /// Defects that were repaired, a sentence each.
    var warnings: [String]
    /// Whether the data file is not writable.
    var isReadOnly = false
    /// The seconds for which the entry stays after its last use; nil: for as long as there is room.
    var keep: Int64?
  }

  enum Problem: Error {
    /// Nothing is stored here.
    case empty
    /// A later version wrote the entry, which must not be changed.
    case newer(Int)
    /// The entry is unusable; its files may be replaced.
    case broken(String)
    /// The disk failed, which says nothing about the entry: it must not be changed.
    case unreadable(DiskError)
  }

  var recordPath: String { "\(path)/\(EntryRecord.fileName)" }

  /// Reads the sidecar and the journals, opens the data file, and accepts only spans that the file
  /// can hold.
  func load() throws(Problem) -> Contents {
    try read { record, synced throws(Problem) in
      let file: EntryFile
      let isReadOnly: Bool
      do throws(DiskError) {
        (file, isReadOnly) = try openFile("\(path)/\(record.file)")
      } catch {
        guard error.isMissing || error.isObstacle else { throw .unreadable(error) }
        throw .broken("its data file is missing or unreadable (\(error))")
      }
      // Another process is shortening the file.
      guard file.isLocked else { return nil }
      let (journalled, lastEpoch, keep) = try journals(of: record)
      var contents = try Self.believe(record, synced, journalled, file, lastEpoch)
      contents.isReadOnly = isReadOnly
      contents.keep = keep
      return contents
    }
  }

  /// Reads the record, and what belongs to it: again if another process replaces the record or the
  /// file meanwhile, or is shortening the file, which takes as long as a sync.
  ///
  /// - Parameter rest: called with the record and its spans; returns nil if it is to be read again.
  private func read<Contents>(
    _ rest: (EntryRecord, RangeSet<Int64>) throws(Problem) -> Contents?
  ) throws(Problem) -> Contents {
    for attempt in 0..<300 {
      if attempt > 0 { usleep(useconds_t(min(attempt, 10) * 1000)) }
      guard let bytes = try readRecord() else { throw .empty }
      let (record, spans) = try EntryRecord.decode(bytes)
      do throws(Problem) {
        if let contents = try rest(record, spans), try readRecord() == bytes { return contents }
      } catch {
        if try readRecord() == bytes { throw error }
      }
    }
    throw .broken("another process keeps changing it")
  }

  /// Opens a data file, read-only if write access is refused.
  private func openFile(_ path: String) throws(DiskError) -> (EntryFile, isReadOnly: Bool) {
    do throws(DiskError) {
      return (try EntryFile(path: path, mode: .readWrite, disk: disk), false)
    } catch {
      guard error.isRefused else { throw error }
      return (try EntryFile(path: path, mode: .read, disk: disk), true)
    }
  }

  /// The URL of the stored resource, for events and errors; the directory's path if no record names
  /// a URL.
  var resourceName: String { writtenRecord?.url ?? path }

  /// The record as it was last written; nil if none is readable. Journals may add spans to it.
  var writtenRecord: EntryRecord? {
    guard let bytes = try? readRecord() else { return nil }
    return try? EntryRecord.decode(bytes).0
  }

  /// Returns the record and its spans without opening the data file, for listing.
  func loadRecord() throws(Problem) -> (record: EntryRecord, spans: RangeSet<Int64>) {
    // Replacing the record in the meantime may have removed its journals.
    try read { record, spans throws(Problem) in
      (record, spans.union(try journals(of: record).spans))
    }
  }

  private static func believe(
    _ record: EntryRecord, _ synced: RangeSet<Int64>, _ journalled: RangeSet<Int64>,
    _ file: EntryFile, _ lastEpoch: Int
  ) throws(Problem) -> Contents {
    var warnings: [String] = []
    var spans = synced.union(journalled)
    var syncedSpans = synced
    let size: Int64
    do throws(DiskError) { size = try file.status().size } catch { throw .unreadable(error) }
    let end = min(size, record.length ?? size)
    if let last = spans.ranges.last?.upperBound, last > end {
      warnings.append(
        "The file of \(record.url) is shorter than its record says (\(file.path)); the rest is "
          + "fetched again.")
      spans.remove(contentsOf: end..<last)
      if syncedSpans.ranges.last?.upperBound ?? 0 > end {
        syncedSpans.remove(contentsOf: end..<Int64.max)
      }
    }
    return Contents(
      record: record, spans: spans, syncedSpans: syncedSpans, file: file, lastEpoch: lastEpoch,
      warnings: warnings)
  }

  private func readRecord() throws(Problem) -> [UInt8]? {
    do throws(DiskError) {
      return try disk.contents(of: recordPath)
    } catch {
      guard error.isObstacle else { throw .unreadable(error) }
      throw .broken("its record cannot be read (\(error))")
    }
  }

  private func journals(
    of record: EntryRecord
  ) throws(Problem) -> (spans: RangeSet<Int64>, lastEpoch: Int, keep: Int64?) {
    do throws(DiskError) {
      return try readJournals(of: record)
    } catch {
      throw .unreadable(error)
    }
  }

  /// Returns the spans that the journals add to a record, the highest number of them and the record,
  /// and what the list of files shows besides: how long the entry stays.
  func readJournals(
    of record: EntryRecord
  ) throws(DiskError) -> (spans: RangeSet<Int64>, lastEpoch: Int, keep: Int64?) {
    var spans = RangeSet<Int64>()
    var lastEpoch = record.epoch
    var keep: Int64?
    for name in try disk.names(in: path) {
      keep = keep ?? Self.keep(markedBy: name)
      guard let epoch = SpanJournal.epoch(of: name, generation: record.generation),
        epoch >= record.epoch
      else { continue }
      lastEpoch = max(lastEpoch, epoch)
      // An unreadable journal only costs fetching its bytes again.
      guard let bytes = try? disk.contents(of: "\(path)/\(name)") else { continue }
      spans.formUnion(SpanJournal.decode(bytes, bootIdentity: bootIdentity))
    }
    return (spans, lastEpoch, keep)
  }

  /// Removes the journals that a record of number `epoch` has superseded.
  func removeJournals(of generation: String, before epoch: Int) throws(DiskError) {
    for name in try disk.names(in: path) {
      guard let own = SpanJournal.epoch(of: name, generation: generation), own < epoch else {
        continue
      }
      try disk.removeFile("\(path)/\(name)")
    }
  }

  /// Makes the directory and its parents if they are missing.
  ///
  /// - Returns: whether the directory was missing, provided that the caller holds the lock.
  func create() throws(DiskError) -> Bool {
    let isNew = try disk.status(of: path) == nil
    for attempt in 1... {
      do throws(DiskError) {
        try disk.makeDirectory(shardPath)
        try disk.makeDirectory(path)
        break
      } catch {
        // Another program has removed the cache directory, or an empty shard was removed.
        guard error.isMissing, attempt < 100 else { throw error }
        try createParents()
      }
    }
    return isNew
  }

  /// The entry's name.
  var name: String { path.split(separator: "/").last.map(String.init) ?? path }

  /// The directory of all entries whose names end in the same two digits.
  var shardPath: String { Self.parent(of: path) }

  /// Makes the directory of all shards and its parents: they may be removed while the cache is in
  /// use.
  func createParents() throws(DiskError) {
    let entries = Self.parent(of: Self.parent(of: path))
    try make(entries)
    // Best effort, as on opening the cache: on failure the media is only backed up needlessly.
    do { try disk.setStoredMediaAttributes(entries) } catch {}
  }

  private func make(_ path: String) throws(DiskError) {
    do throws(DiskError) {
      try disk.makeDirectory(path)
    } catch {
      let parent = Self.parent(of: path)
      guard error.isMissing, !parent.isEmpty else { throw error }
      try make(parent)
      try disk.makeDirectory(path)
    }
  }

  private static func parent(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
  }

  /// Makes the names of the entry's parent directories survive a power cut. `create` does not,
  /// because no bytes are stored yet that would be worth the wait.
  func syncParents() throws(DiskError) {
    var parent = path[...]
    // The shard, the directory of all shards, and the cache directory.
    for _ in 0..<3 {
      guard let slash = parent.lastIndex(of: "/") else { return }
      parent = parent[..<slash]
      try disk.syncDirectory(String(parent))
    }
  }

  /// Replaces the sidecar by rename(2).
  ///
  /// - Parameters:
  ///   - durably: whether the new record survives a power cut on return. If not, a power cut may
  ///     leave neither the old one nor the new one.
  ///   - keepsAge: whether the time of last access stays unchanged.
  func write(_ record: EntryRecord, durably: Bool, keepsAge: Bool = false) throws {
    let bytes = try record.encoded()
    let temporary = "\(recordPath).new"
    let age = keepsAge ? try disk.status(of: recordPath)?.changed : nil
    let descriptor: Int32
    do throws(DiskError) {
      descriptor = try disk.open(temporary, .create)
    } catch {
      guard error.isObstacle else { throw error }
      try remove(temporary)
      descriptor = try disk.open(temporary, .create)
    }
    do {
      defer { disk.close(descriptor) }
      try disk.write(bytes, to: descriptor, at: 0)
      if durably { try disk.sync(descriptor) }
    }
    if let age { try disk.setChangeTime(of: temporary, to: age) }
    if try disk.isDirectory(recordPath) { try remove(recordPath) }
    try disk.rename(temporary, to: recordPath)
    if durably { try disk.syncDirectory(path) }
  }

  /// Removes every file except those named and the marks; if none is named, everything, and the
  /// directory too. Processes that have a file open can still read it (unlink(2)).
  func removeFiles(except kept: Set<String> = []) throws(DiskError) {
    for name in try disk.names(in: path)
    where !kept.contains(name) && (kept.isEmpty || !Self.isMark(name)) {
      try remove("\(path)/\(name)")
    }
    guard kept.isEmpty else { return }
    try disk.removeDirectory(path)
    removeShardIfEmpty()
  }

  func removeShardIfEmpty() { Self.removeIfEmpty(shardPath, disk: disk) }

  /// Removes a directory if it is empty.
  static func removeIfEmpty(_ path: String, disk: any Disk) {
    do {
      try disk.removeDirectory(path)
    } catch {
      // Either it is not empty (rmdir(2), ENOTEMPTY), or an empty directory is left, which does no
      // harm.
    }
  }

  /// Removes a file, or a directory in its place with all its contents.
  func remove(_ path: String) throws(DiskError) {
    do throws(DiskError) {
      return try disk.removeFile(path)
    } catch {
      // unlink(2) of a directory: EISDIR on Linux, EPERM elsewhere.
      guard error.code == EISDIR || error.code == EPERM, try disk.isDirectory(path) else {
        throw error
      }
    }
    for name in try disk.names(in: path) { try remove("\(path)/\(name)") }
    try disk.removeDirectory(path)
  }
}
