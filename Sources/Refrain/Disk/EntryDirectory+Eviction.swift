// SPDX-License-Identifier: MIT
import Foundation

/// Removes bytes of an entry that is not in use. The caller holds the entry's `WriterLock`.
extension EntryDirectory {
  /// Another process reads the entry, of which nothing was removed.
  struct InUse: Error {}

  /// Removes the entry unless a process reads it.
  ///
  /// - Parameter found: its files, if they were just listed.
  /// - Returns: its key, if it has a record.
  func removeUnused(_ found: Files? = nil) throws -> CacheKey? {
    var record: EntryRecord?
    do throws(Problem) {
      record = try EntryRecord.decode(readRecord()).0
    } catch {
      switch error {
      case .newer, .unreadable: throw error
      // No process can have opened an entry without a readable record.
      case .empty, .broken: break
      }
    }
    let descriptor = try record.flatMap { try lockedDataFile($0) }
    defer { if let descriptor { disk.closeLocked(descriptor) } }
    try removeFiles(found)
    return record.map { CacheKey(rawValue: $0.key) }
  }

  /// Frees at least the last `bytes` stored, in whole blocks.
  ///
  /// The record durably drops the bytes before the file is truncated, so it never claims bytes that
  /// are not in the file. If the file cannot be truncated, the whole entry is removed.
  func shorten(by bytes: Int64) throws -> CacheKey? {
    let contents = try loadRecord()
    var spans = contents.spans
    guard let descriptor = try lockedDataFile(contents.record) else { return try removeUnused() }
    defer { disk.closeLocked(descriptor) }
    // The record is about to include spans that only a journal held.
    try disk.sync(descriptor)
    var cut = spans.ranges.last?.upperBound ?? 0
    var dropped: Int64 = 0
    for range in spans.ranges.reversed() where dropped < bytes {
      cut = max(range.lowerBound, range.upperBound - (bytes - dropped))
      // The file system frees whole blocks, nearly always of 4 KiB.
      cut = cut / 4096 * 4096
      dropped += range.upperBound - max(cut, range.lowerBound)
    }
    spans.remove(contentsOf: cut..<Int64.max)
    let size = try disk.status(of: descriptor).size
    try replace(contents, claiming: spans)
    do throws(DiskError) {
      try disk.truncate(descriptor, to: min(cut, size))
    } catch {
      try removeFiles()
    }
    return CacheKey(rawValue: contents.record.key)
  }

  /// Replaces a record and its journals by a record with these spans, whose bytes are synced.
  func replace(_ contents: Contents, claiming spans: RangeSet<Int64>) throws {
    var record = contents.record
    record.spans = SpanList.encode(spans)
    // The existing journals do not count any more.
    record.epoch = contents.lastEpoch + 1
    try write(record, durably: true, keepsAge: true)
    try removeFiles { $0 != EntryRecord.fileName && $0 != record.file && !Self.isMark($0) }
  }

  /// Returns the size of some files, and how much of it is being read: that part is only freed when
  /// the last reader has closed it.
  func allocatedBytes(
    where isIncluded: (String) -> Bool
  ) throws(DiskError) -> (all: Int64, read: Int64) {
    var sum: (all: Int64, read: Int64) = (0, 0)
    for name in try disk.names(in: path) where isIncluded(name) {
      guard let status = try disk.status(of: "\(path)/\(name)") else { continue }
      sum.all += status.allocated
      let isData = name != EntryRecord.fileName && !name.hasSuffix(SpanJournal.suffix)
      guard isData, status.kind == .file, status.allocated > 0 else { continue }
      let descriptor = try disk.open("\(path)/\(name)", .read)
      defer { disk.close(descriptor) }
      // If the file system cannot lock, readers cannot be detected.
      switch try? disk.lock(descriptor, .exclusive) {
      case true?: disk.unlock(descriptor, .exclusive)
      case false?: sum.read += status.allocated
      case nil: break
      }
    }
    return sum
  }

  /// Returns the data file, locked against every reader; nil if it is missing or the file system
  /// cannot lock: then only the whole entry can be removed.
  private func lockedDataFile(_ record: EntryRecord) throws -> Int32? {
    let dataPath = "\(path)/\(record.file)"
    guard try disk.status(of: dataPath) != nil else { return nil }
    let descriptor = try disk.open(dataPath, .readWrite)
    do throws(DiskError) {
      let locked = try soon { () throws(DiskError) in
        try disk.lock(descriptor, .exclusive) ? descriptor : nil
      }
      if let locked { return locked }
    } catch {
      // The file system cannot lock. Other readers keep a removed file, but would reach the end of
      // a truncated one.
      disk.close(descriptor)
      return nil
    }
    disk.close(descriptor)
    throw InUse()
  }
}
