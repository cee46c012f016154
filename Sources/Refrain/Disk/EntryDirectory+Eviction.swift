// SPDX-License-Identifier: MIT

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Removes bytes of an entry that is not in use. The caller holds the entry's `WriterLock`.
extension EntryDirectory {
  /// Another process reads the entry, of which nothing was removed.
  struct InUse: Error {}

  /// Removes the entry unless a process reads it.
  ///
  /// - Parameter found: its files, if they were just listed.
  /// - Returns: its key, if it has a record.
  func removeUnused(_ found: Files? = nil) throws -> CacheKey? {
    let record: EntryRecord
    do throws(Problem) {
      record = try EntryRecord.decode(readRecord()).0
    } catch {
      switch error {
      case .newer, .unreadable: throw error
      case .empty, .broken: break
      }
      // No process can have opened an entry without a readable record.
      try removeFiles(found)
      return nil
    }
    let descriptor = try lockedDataFile(record)
    defer { if let descriptor { disk.closeLocked(descriptor) } }
    try removeFiles(found)
    return CacheKey(rawValue: record.key)
  }

  /// Frees at least the last `bytes` stored, in whole blocks.
  ///
  /// The record durably drops the bytes before the file is truncated, so it never claims bytes that
  /// are not in the file. If the file cannot be truncated, the whole entry is removed.
  func shorten(by bytes: Int64) throws -> CacheKey? {
    let (record, claimed) = try loadRecord()
    var spans = claimed
    let descriptor = try lockedDataFile(record)
    guard let descriptor else { return try removeUnused() }
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
    try replaceSpans(of: record, by: spans)
    do throws(DiskError) {
      try disk.truncate(descriptor, to: min(cut, size))
    } catch {
      try disk.removeFile(recordPath)
      try removeFiles()
    }
    return CacheKey(rawValue: record.key)
  }

  /// Replaces a record and its journals by a record with these spans, whose bytes are synced.
  func replaceSpans(of record: EntryRecord, by spans: RangeSet<Int64>) throws {
    var record = record
    record.spans = SpanList.encode(spans)
    // The existing journals do not count any more.
    record.epoch = try readJournals(of: record).lastEpoch + 1
    try write(record, durably: true, keepsAge: true)
    try removeFiles(except: [EntryRecord.fileName, record.file])
  }

  /// Returns the size of every file except those named, and how much of it is being read: that part
  /// is only freed when the last reader has closed it.
  func allocatedBytes(
    except kept: Set<String> = []
  ) throws(DiskError) -> (all: Int64, read: Int64) {
    var sum: (all: Int64, read: Int64) = (0, 0)
    for (name, status) in try files()?.statuses ?? [] where !kept.contains(name) {
      sum.all += status.allocated
      let isData = name != EntryRecord.fileName && !name.hasSuffix(SpanJournal.suffix)
      guard isData, status.kind == .file, status.allocated > 0 else { continue }
      let descriptor = try disk.open("\(path)/\(name)", .read)
      defer { disk.close(descriptor) }
      // If the file system cannot lock, readers cannot be detected.
      switch try? disk.lock(descriptor, .exclusive) {
      case true?: disk.unlock(descriptor)
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
    let isLocked: Bool
    do throws(DiskError) {
      isLocked = try disk.lockSoon(descriptor, .exclusive)
    } catch {
      // The file system cannot lock. Other readers keep a removed file, but would reach the end of
      // a truncated one.
      disk.close(descriptor)
      return nil
    }
    if isLocked { return descriptor }
    disk.close(descriptor)
    throw InUse()
  }
}
