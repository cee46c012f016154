// SPDX-License-Identifier: MIT
import Foundation

/// Reads an entry: on opening it, or only its record and the sizes of its files. Changes nothing.
extension EntryDirectory {
  /// What the record and the journals of an entry claim.
  struct Contents: Sendable {
    var record: EntryRecord
    /// The readable bytes: synced, or written since the machine was booted.
    var spans: RangeSet<Int64>
    /// The part of `spans` that the sidecar itself records.
    var syncedSpans: RangeSet<Int64>
    /// The highest number of the record and the journals: the next one written gets a higher
    /// number.
    var lastEpoch: Int
    /// The seconds for which the entry stays after its last use; nil: for as long as there is room.
    var keep: Int64?
    /// The data file; nil if it was not opened.
    var file: EntryFile?
    /// Whether the data file is not writable.
    var isReadOnly = false
    /// A defect that was repaired, as a sentence.
    var warning: String?

    /// - Parameter synced: the spans of the record.
    fileprivate init(_ record: EntryRecord, _ synced: RangeSet<Int64>) {
      self.record = record
      (spans, syncedSpans) = (synced, synced)
      lastEpoch = record.epoch
    }
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

    /// Says that an entry is not used; nil if it is nothing to warn about, or a later version's.
    func warning(of entry: String) -> String? {
      switch self {
      case .empty, .newer: nil
      case .broken(let why): "The entry \(entry) is ignored: \(why)."
      case .unreadable(let failure): "The entry \(entry) cannot be read now: \(failure)."
      }
    }
  }

  // MARK: Opening

  /// Reads the sidecar and the journals, opens the data file, and accepts only spans that the file
  /// can hold.
  func load() throws(Problem) -> Contents {
    try read { contents throws(Problem) in
      let file = try openFile(of: &contents)
      // Another process is shortening the file.
      guard file.isLocked else { return false }
      try readJournals(&contents)
      let size = try reading { () throws(DiskError) in try file.status().size }
      let end = min(size, contents.record.length ?? size)
      if contents.spans.ranges.last?.upperBound ?? 0 > end {
        contents.warning =
          "The file of \(contents.record.url) is shorter than its record says (\(file.path)); the "
          + "rest is fetched again."
        contents.spans.remove(contentsOf: end..<Int64.max)
        contents.syncedSpans.remove(contentsOf: end..<Int64.max)
      }
      return true
    }
  }

  /// Opens the data file, read-only if write access is refused.
  private func openFile(of contents: inout Contents) throws(Problem) -> EntryFile {
    let path = "\(path)/\(contents.record.file)"
    let file = try openingData { () throws(DiskError) in
      do throws(DiskError) {
        return try EntryFile(path: path, mode: .readWrite, disk: disk)
      } catch {
        guard error.isRefused else { throw error }
        contents.isReadOnly = true
        return try EntryFile(path: path, mode: .read, disk: disk)
      }
    }
    contents.file = file
    return file
  }

  /// Returns the data file that `open` opens.
  func openingData<File>(_ open: () throws(DiskError) -> File) throws(Problem) -> File {
    do throws(DiskError) {
      return try open()
    } catch {
      guard error.isMissing || error.isObstacle else { throw .unreadable(error) }
      throw .broken("its data file is missing or unreadable (\(error))")
    }
  }

  /// Returns what the record and the journals claim, without opening the data file.
  func loadRecord() throws(Problem) -> Contents {
    // Replacing the record in the meantime may have removed its journals.
    try read { contents throws(Problem) in
      try readJournals(&contents)
      return true
    }
  }

  /// Reads the record, and what belongs to it: again if another process replaces the record or the
  /// file meanwhile, or is shortening the file, which takes as long as a sync.
  ///
  /// - Parameter rest: reads the rest; returns false if all is to be read again.
  private func read(
    _ rest: (inout Contents) throws(Problem) -> Bool
  ) throws(Problem) -> Contents {
    for attempt in 0..<300 {
      if attempt > 0 { usleep(useconds_t(min(attempt, 10) * 1000)) }
      let bytes = try readRecord()
      let (record, spans) = try EntryRecord.decode(bytes)
      var contents = Contents(record, spans)
      do throws(Problem) {
        if try rest(&contents), try isCurrent(bytes) { return contents }
      } catch {
        if try isCurrent(bytes) { throw error }
      }
    }
    throw .broken("another process keeps changing it")
  }

  // MARK: The record and the journals

  /// The URL of the stored resource, for events and errors; the directory's path if no record names
  /// a URL.
  var resourceName: String { writtenRecord?.url ?? path }

  /// The record as it was last written; nil if none is readable. Journals may add spans to it.
  var writtenRecord: EntryRecord? { try? EntryRecord.decode(readRecord()).0 }

  /// - Throws: `Problem.empty` if there is none.
  func readRecord() throws(Problem) -> [UInt8] {
    do throws(DiskError) {
      if let file = try disk.file(at: recordPath) { return file.bytes }
    } catch {
      guard error.isObstacle else { throw .unreadable(error) }
      throw .broken("its record cannot be read (\(error))")
    }
    throw .empty
  }

  private func isCurrent(_ bytes: [UInt8]) throws(Problem) -> Bool {
    do throws(Problem) { return try readRecord() == bytes } catch {
      if case .empty = error { return false }
      throw error
    }
  }

  /// Returns what the disk returns; a failure says nothing about the entry.
  func reading<Value>(_ read: () throws(DiskError) -> Value) throws(Problem) -> Value {
    do throws(DiskError) { return try read() } catch { throw .unreadable(error) }
  }

  /// Adds what the journals claim, and what the list of files shows besides: how long the entry
  /// stays.
  private func readJournals(_ contents: inout Contents) throws(Problem) {
    let record = contents.record
    for name in try reading({ () throws(DiskError) in try disk.names(in: path) }) {
      contents.keep = contents.keep ?? Self.keep(markedBy: name)
      guard let epoch = SpanJournal.epoch(of: name, generation: record.generation),
        epoch >= record.epoch
      else { continue }
      contents.lastEpoch = max(contents.lastEpoch, epoch)
      // An unreadable journal only costs fetching its bytes again.
      guard let file = try? disk.file(at: "\(path)/\(name)") else { continue }
      contents.spans.formUnion(SpanJournal.decode(file.bytes, bootIdentity: bootIdentity))
    }
  }

  // MARK: Surveying

  struct Files: Sendable {
    var statuses: [(name: String, status: FileStatus)] = []
    var allocatedBytes: Int64
    /// The time of change of the record, else of the directory, in seconds since 1970.
    var lastAccess: Double

    /// The seconds for which the entry stays after its last use; nil: for as long as there is room.
    var keep: Int64? { statuses.lazy.compactMap { EntryDirectory.keep(markedBy: $0.name) }.first }

    /// Whether the entry is pinned. A mark without a record protects nothing.
    var isPinned: Bool {
      [EntryRecord.fileName, EntryDirectory.pinName].allSatisfy { status(of: $0) != nil }
    }

    func status(of name: String) -> FileStatus? { statuses.first { $0.name == name }?.status }
  }

  /// Lists the directory and gets the status of each file; nil if there is no directory.
  ///
  /// - Parameter record: gets that of the record in another way.
  func files(
    record: (() throws(DiskError) -> FileStatus?)? = nil
  ) throws(DiskError) -> Files? {
    guard let own = try disk.status(of: path) else { return nil }
    var files = Files(allocatedBytes: own.allocated, lastAccess: own.changed)
    for name in try disk.names(in: path) {
      let isRecord = name == EntryRecord.fileName
      let found =
        if isRecord, let record { try record() } else { try disk.status(of: "\(path)/\(name)") }
      guard let status = found else { continue }
      if isRecord { files.lastAccess = status.changed }
      files.statuses.append((name, status))
      files.allocatedBytes += status.allocated
    }
    return files
  }

  /// What a look at each file of an entry shows.
  struct Survey: Sendable {
    var files: Files
    var contents: Contents
    /// The status of the data file; nil if it is missing.
    var data: FileStatus?

    /// The claimed spans, without those beyond the end of the data file.
    var spansInFile: RangeSet<Int64> {
      let (spans, end) = (contents.spans, min(data?.size ?? 0, contents.record.length ?? .max))
      guard let last = spans.ranges.last?.upperBound, last > end else { return spans }
      return spans.subtracting(RangeSet(end..<last))
    }
  }

  /// Surveys the files, and trusts the record: for listing and checking thousands of entries.
  ///
  /// The order matters: a journal is removed only after a record that claims its spans was written.
  /// So if no journal was listed, the record that is read afterwards claims everything. If one was
  /// listed, `loadRecord` reads both.
  func survey() throws(Problem) -> Survey {
    var bytes: [UInt8]?
    let listed = try reading { () throws(DiskError) in
      try files { () throws(DiskError) in
        // Its contents come with its status; why it cannot be read is found below.
        let file = try? disk.file(at: recordPath)
        bytes = file?.bytes
        return if let file { file.status } else { try disk.status(of: recordPath) }
      }
    }
    guard let found = listed else { throw .empty }
    if bytes == nil { bytes = try readRecord() }
    let (record, spans) = try EntryRecord.decode(bytes ?? [])
    let hasJournal = found.statuses.contains {
      SpanJournal.epoch(of: $0.name, generation: record.generation) != nil
    }
    let contents = try hasJournal ? loadRecord() : Contents(record, spans)
    // The record may have been replaced since the directory was listed, and name a newer file.
    let file = contents.record.file
    let data =
      if let status = found.status(of: file) { status as FileStatus? } else {
        try reading { () throws(DiskError) in try disk.status(of: "\(path)/\(file)") }
      }
    return Survey(files: found, contents: contents, data: data)
  }
}
