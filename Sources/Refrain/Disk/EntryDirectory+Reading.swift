// SPDX-License-Identifier: MIT
import Foundation

/// Reads an entry: on opening it, or only its record and the sizes of its files. Changes nothing.
extension EntryDirectory {
  struct Files: Sendable {
    var statuses: [(name: String, status: FileStatus)] = []
    var allocatedBytes: Int64
    /// The time of change of the record, else of the directory, in seconds since 1970.
    var lastAccess: Double
    /// The contents of the record, if they were to be read and could be.
    fileprivate var record: [UInt8]?

    /// The seconds for which the entry stays after its last use; nil: for as long as there is room.
    var keep: Int64? { statuses.lazy.compactMap { EntryDirectory.keep(markedBy: $0.name) }.first }

    /// Whether the entry is pinned. A mark without a record protects nothing.
    var isPinned: Bool {
      [EntryRecord.fileName, EntryDirectory.pinName].allSatisfy { status(of: $0) != nil }
    }

    func status(of name: String) -> FileStatus? { statuses.first { $0.name == name }?.status }
  }

  /// The files of an entry, and what its record and its journals claim.
  struct Contents: Sendable {
    var files: Files
    var record: EntryRecord
    /// The readable bytes: synced, or written since the machine was booted.
    var spans: RangeSet<Int64>
    /// The part of `spans` that the sidecar itself records.
    var syncedSpans: RangeSet<Int64>
    /// The highest number of the record and the journals: the next one written gets a higher
    /// number.
    var lastEpoch: Int
    /// The status of the data file; nil if it is missing.
    var data: FileStatus?
    /// The data file; nil if it was not opened.
    var file: EntryFile?
    /// Whether the data file is not writable.
    var isReadOnly = false
    /// A defect that was repaired, as a sentence.
    var warning: String?

    /// `spans` without those beyond the end of the data file.
    var spansInFile: RangeSet<Int64> {
      let end = min(data?.size ?? 0, record.length ?? .max)
      guard let last = spans.ranges.last?.upperBound, last > end else { return spans }
      return spans.subtracting(RangeSet(end..<last))
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

  /// Lists the directory and gets the status of each file; nil if there is no directory.
  ///
  /// - Parameter readsRecord: whether to read the record, too: as the last file, because a journal
  ///   that is gone by then was superseded by a record that claims its spans.
  func files(readsRecord: Bool = false) throws(DiskError) -> Files? {
    guard let own = try disk.status(of: path) else { return nil }
    var files = Files(allocatedBytes: own.allocated, lastAccess: own.changed)
    var names = try disk.names(in: path)
    if let index = names.firstIndex(of: EntryRecord.fileName) {
      names.append(names.remove(at: index))
    }
    for name in names {
      let isRecord = name == EntryRecord.fileName
      var found: FileStatus?
      // Its contents come with its status. Why it cannot be read is found later.
      if isRecord, readsRecord, let file = try? disk.file(at: recordPath) {
        (files.record, found) = (file.bytes, file.status)
      } else {
        found = try disk.status(of: "\(path)/\(name)")
      }
      guard let status = found else { continue }
      if isRecord { files.lastAccess = status.changed }
      files.statuses.append((name, status))
      files.allocatedBytes += status.allocated
    }
    return files
  }

  // MARK: The record

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

  // MARK: The record and the files

  /// Reads an entry, opens its data file, and accepts only spans that the file can hold.
  func load() throws(Problem) -> Contents {
    var contents = try read(opensFile: true)
    let held = contents.spansInFile
    if held != contents.spans {
      contents.warning =
        "The file of \(contents.record.url) is shorter than its record says "
        + "(\(path)/\(contents.record.file)); the rest is fetched again."
      contents.spans = held
      contents.syncedSpans.formIntersection(held)
    }
    return contents
  }

  /// Reads an entry without opening its data file: for listing and checking thousands of them.
  func loadRecord() throws(Problem) -> Contents { try read(opensFile: false) }

  /// Lists the files, then reads the record, then what belongs to it: again if another process
  /// replaces the record or the data file meanwhile, or is shortening the file, which takes as long
  /// as a sync.
  ///
  /// The order matters: a journal is removed only after a record that claims its spans was written.
  /// So if no journal was listed, the record that is read afterwards claims everything.
  private func read(opensFile: Bool) throws(Problem) -> Contents {
    for attempt in 0..<300 {
      if attempt > 0 { usleep(useconds_t(min(attempt, 10) * 1000)) }
      let listed = try reading { () throws(DiskError) in try files(readsRecord: true) }
      guard let files = listed else { throw .empty }
      let bytes = if let record = files.record { record } else { try readRecord() }
      let (record, spans) = try EntryRecord.decode(bytes)
      var contents = Contents(
        files: files, record: record, spans: spans, syncedSpans: spans, lastEpoch: record.epoch)
      do throws(Problem) {
        let hasJournal = readJournals(&contents)
        if opensFile {
          let file = try openFile(of: &contents)
          contents.data = try reading { () throws(DiskError) in try file.status() }
          // Another process is shortening the file.
          guard file.isLocked else { continue }
        } else {
          contents.data = files.status(of: record.file)
          // The record may have been replaced since the directory was listed.
          if contents.data == nil {
            contents.data = try reading { () throws(DiskError) in
              try disk.status(of: "\(path)/\(record.file)")
            }
          }
        }
        if !opensFile, !hasJournal { return contents }
        if try isCurrent(bytes) { return contents }
      } catch {
        if try isCurrent(bytes) { throw error }
      }
    }
    throw .broken("another process keeps changing it")
  }

  /// Opens the data file, read-only if write access is refused.
  private func openFile(of contents: inout Contents) throws(Problem) -> EntryFile {
    let path = "\(path)/\(contents.record.file)"
    do throws(DiskError) {
      let file: EntryFile
      do throws(DiskError) {
        file = try EntryFile(path: path, mode: .readWrite, disk: disk)
      } catch {
        guard error.isRefused else { throw error }
        contents.isReadOnly = true
        file = try EntryFile(path: path, mode: .read, disk: disk)
      }
      contents.file = file
      return file
    } catch {
      guard error.isMissing || error.isObstacle else { throw .unreadable(error) }
      throw .broken("its data file is missing or unreadable (\(error))")
    }
  }

  /// Adds what the listed journals claim; returns whether there are any.
  private func readJournals(_ contents: inout Contents) -> Bool {
    var hasJournal = false
    for (name, _) in contents.files.statuses {
      guard let epoch = SpanJournal.epoch(of: name, generation: contents.record.generation)
      else { continue }
      hasJournal = true
      guard epoch >= contents.record.epoch else { continue }
      contents.lastEpoch = max(contents.lastEpoch, epoch)
      // An unreadable journal only costs fetching its bytes again.
      guard let file = try? disk.file(at: "\(path)/\(name)") else { continue }
      contents.spans.formUnion(SpanJournal.decode(file.bytes, bootIdentity: bootIdentity))
    }
    return hasJournal
  }
}
