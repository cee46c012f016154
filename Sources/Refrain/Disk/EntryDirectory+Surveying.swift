// SPDX-License-Identifier: MIT

/// Surveys an entry by examining each of its files once, for listing and checking thousands of
/// entries. Takes no lock and changes nothing.
extension EntryDirectory {
  struct Survey: Sendable {
    var files: Files
    var record: EntryRecord
    /// The spans that the record and the journals claim.
    var spans: RangeSet<Int64>
    /// The status of the data file; nil if it is missing.
    var data: FileStatus?

    /// The claimed spans, without those beyond the end of the data file.
    var spansInFile: RangeSet<Int64> {
      let end = min(data?.size ?? 0, record.length ?? .max)
      guard let last = spans.ranges.last?.upperBound, last > end else { return spans }
      return spans.subtracting(RangeSet(end..<last))
    }
  }

  /// Surveys the files, and trusts the record.
  ///
  /// The order in `files` matters: a journal is removed only after a record that claims its spans
  /// was written. So if no journal was listed, the record that is read afterwards claims
  /// everything. If one was listed, `loadRecord` reads both.
  func survey() throws(Problem) -> Survey {
    let found: Files?
    do throws(DiskError) { found = try files() } catch { throw .unreadable(error) }
    guard let found else { throw .empty }
    var (record, spans) = try found.decoded()
    let hasJournal = found.statuses.contains {
      SpanJournal.epoch(of: $0.name, generation: record.generation) != nil
    }
    if hasJournal { (record, spans) = try loadRecord() }
    var data = found.statuses.first { $0.name == record.file }?.status
    if data == nil {
      // The record may have been replaced since the directory was listed, and name a newer file.
      do throws(DiskError) {
        data = try disk.status(of: "\(path)/\(record.file)")
      } catch {
        throw .unreadable(error)
      }
    }
    return Survey(files: found, record: record, spans: spans, data: data)
  }

  /// The files of an entry, and the contents of its record.
  struct Files: Sendable {
    /// Nil if there is no record, or it was not read.
    var record: Result<[UInt8], Problem>?
    var statuses: [(name: String, status: FileStatus)] = []
    var allocatedBytes: Int64
    /// Seconds since 1970.
    var lastAccess: Double

    /// The seconds for which the entry stays after its last use; nil: for as long as there is room.
    var keep: Int64? { statuses.lazy.compactMap { EntryDirectory.keep(markedBy: $0.name) }.first }

    func decoded() throws(Problem) -> (record: EntryRecord, spans: RangeSet<Int64>) {
      guard let record else { throw .empty }
      return try EntryRecord.decode(record.get())
    }
  }

  /// Lists the directory and gets the status of each file; nil if there is no directory.
  func files(readsRecord: Bool = true) throws(DiskError) -> Files? {
    guard let own = try disk.status(of: path) else { return nil }
    var files = Files(allocatedBytes: own.allocated, lastAccess: own.changed)
    for name in try disk.names(in: path) {
      let status: FileStatus?
      if name == EntryRecord.fileName, readsRecord {
        do throws(DiskError) {
          let file = try disk.file(at: recordPath)
          files.record = file.map { .success($0.bytes) }
          status = file?.status
        } catch {
          guard error.isObstacle else { throw error }
          files.record = .failure(.broken("its record cannot be read (\(error))"))
          status = try disk.status(of: recordPath)
        }
      } else {
        status = try disk.status(of: "\(path)/\(name)")
      }
      guard let status else { continue }
      if name == EntryRecord.fileName { files.lastAccess = status.changed }
      files.statuses.append((name, status))
      files.allocatedBytes += status.allocated
    }
    return files
  }
}
