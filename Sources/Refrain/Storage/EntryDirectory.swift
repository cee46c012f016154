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

  /// What was found on opening.
  struct Contents: Sendable {
    var record: EntryRecord
    /// What is readable: synced, or written during this run of the machine.
    var spans: RangeSet<Int64>
    /// Of these, what the sidecar itself vouches for.
    var syncedSpans: RangeSet<Int64>
    var file: EntryFile
    /// Oddities that were mended, a sentence each.
    var warnings: [String]
  }

  enum Problem: Error {
    /// Nothing is stored here.
    case empty
    /// A later version wrote it: leave it alone.
    case newer(Int)
    /// It cannot be used; what is in the way may be replaced.
    case broken(String)
  }

  var recordPath: String { "\(path)/\(EntryRecord.fileName)" }

  /// Reads the sidecar and the journals, opens the data file, and believes only what the file can
  /// hold.
  func load() throws(Problem) -> Contents {
    // Another process may replace the record or the file between two steps: then begin again.
    for attempt in 0..<50 {
      if attempt > 0 { usleep(useconds_t(min(attempt, 10) * 1000)) }
      guard let bytes = try readRecord() else { throw .empty }
      let (record, synced) = try Self.decode(bytes)
      let file: EntryFile
      do {
        file = try EntryFile(path: "\(path)/\(record.file)", mode: .readWrite, disk: disk)
      } catch {
        if (try? readRecord()) != bytes { continue }
        throw .broken("its data file is missing or unreadable (\(error))")
      }
      guard file.isLocked else { continue }
      let journalled = readJournals(of: record)
      guard let again = try readRecord(), again == bytes else { continue }
      return Self.believe(record, synced, journalled, file)
    }
    throw .broken("another process keeps changing it")
  }

  /// The record alone, for listing.
  func loadRecord() throws(Problem) -> (record: EntryRecord, spans: RangeSet<Int64>) {
    guard let bytes = try readRecord() else { throw .empty }
    let (record, spans) = try Self.decode(bytes)
    return (record, spans.union(readJournals(of: record)))
  }

  private static func decode(
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
    _ file: EntryFile
  ) -> Contents {
    var warnings: [String] = []
    var spans = synced.union(journalled)
    var syncedSpans = synced
    let size = FileReading.measure(file.descriptor)?.size ?? 0
    let end = min(size, record.length ?? size)
    if let last = spans.ranges.last?.upperBound, last > end {
      warnings.append("\(file.path) is shorter than its record says; the rest is fetched again.")
      spans.remove(contentsOf: end..<last)
      if syncedSpans.ranges.last?.upperBound ?? 0 > end {
        syncedSpans.remove(contentsOf: end..<Int64.max)
      }
    }
    return Contents(
      record: record, spans: spans, syncedSpans: syncedSpans, file: file, warnings: warnings)
  }

  private func readRecord() throws(Problem) -> [UInt8]? {
    do throws(DiskError) {
      return try FileReading.contents(of: recordPath)
    } catch {
      throw .broken("its record cannot be read (\(error))")
    }
  }

  private func readJournals(of record: EntryRecord) -> RangeSet<Int64> {
    var spans = RangeSet<Int64>()
    for name in Self.names(in: path) {
      guard let epoch = SpanJournal.epoch(of: name, generation: record.generation),
        epoch >= record.epoch
      else { continue }
      // An unreadable journal costs bytes that are fetched again, nothing else.
      guard let bytes = try? FileReading.contents(of: "\(path)/\(name)") else { continue }
      spans.formUnion(SpanJournal.decode(bytes, bootIdentity: BootIdentity.current))
    }
    return spans
  }

  /// Makes the directory where it is missing, and its shard.
  func create() throws(DiskError) {
    if let slash = path.lastIndex(of: "/") { try disk.makeDirectory(String(path[..<slash])) }
    try disk.makeDirectory(path)
  }

  /// Replaces the sidecar: rename(2) over the old one.
  ///
  /// - Parameter durably: whether the new one survives a power cut on return.
  func write(_ record: EntryRecord, durably: Bool) throws {
    let bytes = try record.encoded()
    let temporary = "\(recordPath).new"
    let descriptor = try disk.open(temporary, .create)
    do {
      defer { disk.close(descriptor) }
      try disk.write(bytes, to: descriptor, at: 0)
      if durably { try disk.sync(descriptor) }
    }
    try disk.rename(temporary, to: recordPath)
    if durably { try disk.syncDirectory(path) }
  }

  /// Removes every file but those named, and with none named the directory too. What is in use
  /// elsewhere stays readable there (unlink(2)).
  func removeFiles(except kept: Set<String> = []) throws(DiskError) {
    for name in Self.names(in: path) where !kept.contains(name) {
      try disk.removeFile("\(path)/\(name)")
    }
    if kept.isEmpty { try disk.removeDirectory(path) }
  }

  /// Every name in a directory but `.` and `..`; none where it cannot be read.
  static func names(in path: String) -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(
          to: CChar.self, capacity: MemoryLayout.size(ofValue: pointer.pointee)
        ) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }
}
