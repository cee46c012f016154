// SPDX-License-Identifier: MIT
import Foundation

/// The files of one entry: a directory with a sidecar, a data file and, while the entry is written
/// to, a journal. Every method blocks; call them on `IOThreads` only.
struct EntryDirectory: Sendable {
  let path: String
  let disk: any Disk
  let bootIdentity: String

  var recordPath: String { "\(path)/\(EntryRecord.fileName)" }

  var name: String { path.split(separator: "/").last.map(String.init) ?? path }

  var shardPath: String { path.parentPath }

  /// In the cache directory.
  var lockPath: String { "\(shardPath.parentPath.parentPath)/\(WriterLock.fileName)" }

  /// Makes the names of the entry, its shard, and the directory of all shards survive a power cut.
  func syncParents() throws(DiskError) {
    var parent = path
    for _ in 0..<3 {
      parent = parent.parentPath
      if !parent.isEmpty { try disk.syncDirectory(parent) }
    }
  }

  /// Replaces the sidecar, and keeps the time of last access with `keepsAge`. Unless `durably`, a
  /// power cut may leave neither the old record nor the new one.
  func write(_ record: EntryRecord, durably: Bool, keepsAge: Bool = false) throws {
    let bytes = try record.encoded()
    let temporary = "\(recordPath).new"
    let age = keepsAge ? try disk.status(of: recordPath)?.changed : nil
    try disk.makeFile(temporary, with: bytes, syncs: durably)
    if let age { try disk.setChangeTime(of: temporary, to: age) }
    if try disk.status(of: recordPath)?.kind == .directory { try remove(recordPath) }
    try disk.rename(temporary, to: recordPath)
    if durably { try disk.syncDirectory(path) }
  }

  /// Keeps also the record and the marks.
  func removeOthers(than names: Set<String>) throws(DiskError) {
    for name in try disk.names(in: path)
    where name != EntryRecord.fileName && !Self.isMark(name) && !names.contains(name) {
      try remove("\(path)/\(name)")
    }
  }

  /// Removes the entry. Processes that have a file open can still read it (unlink(2)).
  func removeFiles() throws(DiskError) {
    // The record goes first: a partly removed entry then counts as empty.
    try remove(recordPath)
    for name in try disk.names(in: path) { try remove("\(path)/\(name)") }
    try remove(path)
    disk.removeIfEmpty(shardPath)
  }

  /// Removes a file, or a directory in its place with all its contents.
  func remove(_ path: String) throws(DiskError) {
    do throws(DiskError) {
      try disk.remove(path)
    } catch {
      guard error.code == ENOTEMPTY || error.code == EEXIST else { throw error }
      for name in try disk.names(in: path) { try remove("\(path)/\(name)") }
      try disk.remove(path)
    }
  }

  /// Removes the entry, or frees at least the last `bytes` stored, in whole blocks, and returns its
  /// key; nil if it has no record, or is in use, and stays. The caller holds its `WriterLock`.
  func evict(_ bytes: Int64?) throws -> CacheKey? {
    var record: EntryRecord?
    do throws(Problem) {
      record = try reading { try disk.contents(of: recordPath).map(EntryRecord.decode) }
    } catch {
      // No process can have opened an entry without a readable record.
      if case .unreadable = error { throw error }
    }
    var file: EntryFile?
    if let data = record.map({ "\(path)/\($0.file)" }), try disk.status(of: data)?.kind == .file {
      file = try EntryFile(path: data, mode: .readWrite, lock: .exclusive, disk: disk)
    }
    defer { withExtendedLifetime(file) {} }
    // Another process reads it.
    if file?.isLocked == false { return nil }
    if let bytes, let file, case .success = file.locking {
      try shorten(file, by: bytes)
    } else {
      // Readers keep a removed file, but would reach the end of a truncated one.
      try removeFiles()
    }
    return record.map { CacheKey(rawValue: $0.key) }
  }

  /// The record durably drops the bytes before the file is truncated.
  private func shorten(_ file: EntryFile, by bytes: Int64) throws {
    let contents = try loadRecord()
    // The record is about to include spans that only a journal held.
    try file.sync()
    var spans = contents.spans
    var (cut, dropped) = (spans.ranges.last?.upperBound ?? 0, Int64(0))
    for range in spans.ranges.reversed() where dropped < bytes {
      // The file system frees whole blocks, nearly always of 4 KiB.
      cut = max(range.lowerBound, range.upperBound - (bytes - dropped)) / 4096 * 4096
      dropped += range.upperBound - max(cut, range.lowerBound)
    }
    spans.remove(contentsOf: cut..<Int64.max)
    let size = try file.status().size
    try replace(contents, claiming: spans)
    try file.truncate(to: min(cut, size))
  }

  /// Replaces a record and its journals by a record with these spans, whose bytes are synced.
  func replace(_ contents: Contents, claiming spans: RangeSet<Int64>) throws {
    var record = contents.record
    record.spans = Array(spans.ranges)
    // The existing journals do not count any more.
    record.epoch = contents.lastEpoch + 1
    try write(record, durably: true, keepsAge: true)
    try removeOthers(than: [record.file])
  }

  /// The size of the files that are being read: it is freed when their last reader ends.
  func bytesInUse() throws(DiskError) -> Int64 {
    var sum: Int64 = 0
    for (name, status) in try files()?.statuses ?? []
    where status.kind == .file && name != EntryRecord.fileName {
      let file = try EntryFile(path: "\(path)/\(name)", mode: .read, lock: nil, disk: disk)
      // If the file system cannot lock, readers cannot be detected.
      if (try? file.isLocked(against: .exclusive)) == true { sum += status.allocated }
    }
    return sum
  }
}

/// Marks beside the record: empty files that belong to the entry and to none of its generations. An
/// entry can be marked while another process writes it, and a scan of names finds the marks.
extension EntryDirectory {
  /// Of entries that are never evicted.
  static let pinName = "pinned"
  /// Followed by the seconds for which an entry stays after its last use (`ResourcePolicy.keep`).
  private static let keepPrefix = "keep-"

  private var pinPath: String { "\(path)/\(Self.pinName)" }

  static func isMark(_ name: String) -> Bool { name == pinName || keep(markedBy: name) != nil }

  var isPinned: Bool {
    get throws(DiskError) { try disk.status(of: pinPath) != nil }
  }

  /// Pins the entry, durably; false if there is none, or it is being evicted.
  func pin() throws(DiskError) -> Bool {
    guard try disk.status(of: recordPath) != nil else { return false }
    do throws(DiskError) {
      // With the lock, no eviction is between looking for the mark and removing the record. Without
      // it, the entry is being written; or it is being evicted, and its record goes within this time.
      let lock = try WriterLock.acquire(self)
      defer { withExtendedLifetime(lock) {} }
      if try !isPinned { try disk.makeFile(pinPath) }
      if lock == nil { usleep(50_000) }
      // The first record of an entry does not survive a power cut by itself.
      try disk.syncFile(recordPath)
      try disk.syncDirectory(path)
      try syncParents()
      return try disk.status(of: recordPath) != nil
    } catch {
      if error.isMissing { return false }
      throw error
    }
  }

  /// Lifts the pin, durably; false if there was none.
  func unpin() throws(DiskError) -> Bool {
    guard try isPinned else { return false }
    try remove(pinPath)
    try disk.syncDirectory(path)
    return true
  }

  /// What a pinned entry claims of the disk, now or once it is complete, with a block each for the
  /// directory and the record. Bounded: a damaged record may name any length.
  static func pinnedBytes(allocated: Int64, length: Int64?) -> Int64 {
    max(allocated, min(length ?? 0, 1 << 45) + 8192)
  }

  static func keep(markedBy name: String) -> Int64? {
    guard name.hasPrefix(keepPrefix) else { return nil }
    return Int64(name.dropFirst(keepPrefix.count)).flatMap { $0 >= 0 ? $0 : nil }
  }

  /// Replaces the mark of an entry that has a record, and returns whether that changed anything.
  func mark(keep seconds: Int64?) throws(DiskError) -> Bool {
    let names = try disk.names(in: path)
    let marks = names.filter { Self.keep(markedBy: $0) != nil }
    let wanted = seconds.map { ["\(Self.keepPrefix)\($0)"] } ?? []
    guard names.contains(EntryRecord.fileName), marks != wanted else { return false }
    for mark in marks { try disk.remove("\(path)/\(mark)") }
    for mark in wanted { try disk.makeFile("\(path)/\(mark)") }
    return true
  }
}
