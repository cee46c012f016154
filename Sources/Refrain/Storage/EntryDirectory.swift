// SPDX-License-Identifier: MIT

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The files of one entry: a directory with a sidecar, a data file, and a journal while it is
/// written to. All of it blocks; called on `IOThreads` only.
struct EntryDirectory: Sendable {
  let path: String
  let disk: any Disk
  /// This run of the machine.
  let bootIdentity: String
  /// Shared by all entries of a store, as `locks` are.
  let syncs: DirectorySyncs
  let locks: WriterLocks

  /// What was found on opening.
  struct Contents: Sendable {
    var record: EntryRecord
    /// What is readable: synced, or written during this run of the machine.
    var spans: RangeSet<Int64>
    /// Of these, what the sidecar itself vouches for.
    var syncedSpans: RangeSet<Int64>
    var file: EntryFile
    /// The highest number of the record or of a journal: what is written next has a higher one.
    var lastEpoch: Int
    /// Oddities that were repaired, a sentence each.
    var warnings: [String]
    /// The data file may not be written to.
    var isReadOnly = false
  }

  enum Problem: Error {
    /// Nothing is stored here.
    case empty
    /// A later version wrote it: leave it alone.
    case newer(Int)
    /// It cannot be used; what is in the way may be replaced.
    case broken(String)
    /// The disk failed, which says nothing about what is stored: leave it alone.
    case unreadable(DiskError)
  }

  var recordPath: String { "\(path)/\(EntryRecord.fileName)" }

  /// Reads the sidecar and the journals, opens the data file, and believes only what the file can
  /// hold.
  func load() throws(Problem) -> Contents {
    // Another process may replace the record or the file between two steps, or be shortening it,
    // which takes a sync: then begin again.
    for attempt in 0..<300 {
      if attempt > 0 { usleep(useconds_t(min(attempt, 10) * 1000)) }
      guard let bytes = try readRecord() else { throw .empty }
      let (record, synced) = try Self.decode(bytes)
      let file: EntryFile
      let isReadOnly: Bool
      do {
        (file, isReadOnly) = try openFile("\(path)/\(record.file)")
      } catch {
        if try readRecord() != bytes { continue }
        guard error.isMissing || error.isObstacle else { throw .unreadable(error) }
        throw .broken("its data file is missing or unreadable (\(error))")
      }
      guard file.isLocked else { continue }
      let (journalled, lastEpoch) = try journals(of: record)
      guard let again = try readRecord(), again == bytes else { continue }
      var contents = try Self.believe(record, synced, journalled, file, lastEpoch)
      contents.isReadOnly = isReadOnly
      return contents
    }
    throw .broken("another process keeps changing it")
  }

  /// Opens a data file; for reading only where writing is refused.
  private func openFile(_ path: String) throws(DiskError) -> (EntryFile, isReadOnly: Bool) {
    do throws(DiskError) {
      return (try EntryFile(path: path, mode: .readWrite, disk: disk), false)
    } catch {
      guard error.isRefused else { throw error }
      return (try EntryFile(path: path, mode: .read, disk: disk), true)
    }
  }

  /// The URL of what is stored, for what is reported; the directory where no record names one.
  var resourceName: String { (try? loadRecord().record.url) ?? path }

  /// The record alone, for listing.
  func loadRecord() throws(Problem) -> (record: EntryRecord, spans: RangeSet<Int64>) {
    guard var bytes = try readRecord() else { throw .empty }
    for _ in 0..<50 {
      let (record, spans) = try Self.decode(bytes)
      let all = spans.union(try journals(of: record).spans)
      // A record that was replaced in the meantime may have taken its journals with it.
      guard let again = try readRecord() else { throw .empty }
      if again == bytes { return (record, all) }
      bytes = again
    }
    throw .broken("another process keeps changing it")
  }

  static func decode(
    _ bytes: [UInt8]
  ) throws(Problem) -> (EntryRecord, RangeSet<Int64>) {
    do throws(EntryRecord.Problem) {
      return try EntryRecord.decode(bytes)
    } catch {
      switch error {
      case .newer(let version): throw .newer(version)
      case .broken(let why): throw .broken("its record is damaged: \(why)")
      }
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
  ) throws(Problem) -> (spans: RangeSet<Int64>, lastEpoch: Int) {
    do throws(DiskError) {
      return try readJournals(of: record)
    } catch {
      throw .unreadable(error)
    }
  }

  /// What the journals add to a record, and the highest number among them and the record.
  func readJournals(
    of record: EntryRecord
  ) throws(DiskError) -> (spans: RangeSet<Int64>, lastEpoch: Int) {
    var spans = RangeSet<Int64>()
    var lastEpoch = record.epoch
    for name in try disk.names(in: path) {
      guard let epoch = SpanJournal.epoch(of: name, generation: record.generation),
        epoch >= record.epoch
      else { continue }
      lastEpoch = max(lastEpoch, epoch)
      // An unreadable journal costs bytes that are fetched again, nothing else.
      guard let bytes = try? disk.contents(of: "\(path)/\(name)") else { continue }
      spans.formUnion(SpanJournal.decode(bytes, bootIdentity: bootIdentity))
    }
    return (spans, lastEpoch)
  }

  /// Removes the journals that a record of that number has made needless.
  func removeJournals(of generation: String, before epoch: Int) throws(DiskError) {
    for name in try disk.names(in: path) {
      guard let own = SpanJournal.epoch(of: name, generation: generation), own < epoch else {
        continue
      }
      try disk.removeFile("\(path)/\(name)")
    }
  }

  /// Makes the directory where it is missing, and those above it.
  ///
  /// - Returns: whether it was missing, where the caller holds the lock.
  func create() throws(DiskError) -> Bool {
    let isNew = try disk.status(of: path) == nil
    for attempt in 1... {
      do throws(DiskError) {
        try disk.makeDirectory(shardPath)
        try disk.makeDirectory(path)
        break
      } catch {
        // Somebody has removed the cache's directory, or the shard, in which nothing was.
        guard error.isMissing, attempt < 100 else { throw error }
        try createParents()
      }
    }
    return isNew
  }

  /// The entry's name.
  var name: String { path.split(separator: "/").last.map(String.init) ?? path }

  /// The directory of all entries whose names begin alike.
  var shardPath: String { Self.parent(of: path) }

  /// Makes the directory of all shards, with all that is above it: it may have been removed while
  /// the cache is in use.
  func createParents() throws(DiskError) {
    let entries = Self.parent(of: Self.parent(of: path))
    try make(entries)
    // Best effort, as on opening the cache: without it, what is stored is only backed up needlessly.
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

  /// Makes the names on the way to the entry survive a power cut: `create` does not, for it is not
  /// worth the wait before a byte is there.
  func syncParents() throws(DiskError) {
    var parent = path[...]
    // The shard, the directory of all shards, and the cache's own.
    for _ in 0..<3 {
      guard let slash = parent.lastIndex(of: "/") else { return }
      parent = parent[..<slash]
      try syncs.sync(String(parent), disk)
    }
  }

  /// Replaces the sidecar: rename(2) over the old one.
  ///
  /// - Parameters:
  ///   - durably: whether the new one survives a power cut on return. If not, a power cut may leave
  ///     neither the old one nor the new one.
  ///   - keepsAge: whether it leaves the time of last access as it is.
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

  /// Removes every file but those named, and with none named the directory too. What is in use
  /// elsewhere stays readable there (unlink(2)).
  func removeFiles(except kept: Set<String> = []) throws(DiskError) {
    for name in try disk.names(in: path) where !kept.contains(name) {
      try remove("\(path)/\(name)")
    }
    guard kept.isEmpty else { return }
    try disk.removeDirectory(path)
    Self.removeIfEmpty(shardPath, disk: disk)
  }

  /// Removes a directory in which nothing is.
  static func removeIfEmpty(_ path: String, disk: any Disk) {
    do {
      try disk.removeDirectory(path)
    } catch {
      // Something is in it (rmdir(2), ENOTEMPTY), or it takes a block that it need not: that is all.
    }
  }

  /// A file, or a directory that somebody put here with all that is in it.
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
