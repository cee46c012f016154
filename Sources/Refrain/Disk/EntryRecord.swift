// SPDX-License-Identifier: MIT
import Foundation

/// The sidecar of an entry: the contents of the data file beside it, and their resource. Replaced
/// as a whole by rename(2).
struct EntryRecord: Codable, Sendable, Hashable {
  static let version = 3
  static let fileName = "entry.json"
  /// No valid epoch approaches it.
  static let epochLimit = 1 << 52

  var version = EntryRecord.version
  var key: String
  var url: String
  var finalURL: String
  /// The generation's name, with which its file names begin.
  var generation: String
  var file: String
  var length: Int64?
  var mimeType: String?
  var supportsRanges: Bool
  var validator: Validator
  var freshness: Freshness
  /// Name and value in turn.
  var headers: [String] = []
  /// The request's values of the fields in Vary.
  var variant: String?
  /// Whether a shared cache may use it.
  var isSharable = false
  /// When a request may have changed the resource.
  var invalidatedAt: Date?
  /// The key of the first resource of its group; nil if none is known.
  var group: String?
  /// The spans whose bytes were synced before this was written.
  var spans: [ByteRange]
  /// Increases with every replacement. Journals with this number or a higher one add to `spans`.
  var epoch: Int

  var storedHeaders: HeaderFields {
    HeaderFields(
      stride(from: 0, to: headers.count - 1, by: 2).map { (headers[$0], headers[$0 + 1]) })
  }

  func encoded() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return [UInt8](try encoder.encode(self))
  }

  static func decode(_ bytes: [UInt8]) throws(EntryDirectory.Problem) -> EntryRecord {
    guard let record = try? JSONDecoder().decode(EntryRecord.self, from: Data(bytes)),
      record.version == EntryRecord.version, record.length ?? 0 >= 0,
      record.spans.allSatisfy({ $0.lowerBound >= 0 && $0.upperBound <= record.length ?? .max }),
      (0..<epochLimit).contains(record.epoch),
      isPlainName(record.file), isPlainName(record.generation)
    else { throw .broken("its record is damaged") }
    return record
  }

  static func isPlainName(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.count <= 128 && name != fileName
      && !EntryDirectory.isMark(name) && !name.hasPrefix(".")
      && name.utf8.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789-.".utf8.contains($0) }
  }
}

/// Reads an entry: on opening it, or only its record and the sizes of its files. Changes nothing.
extension EntryDirectory {
  struct Files: Sendable {
    var statuses: [(name: String, status: FileStatus)] = []
    var allocatedBytes: Int64
    /// The time of change of the record, else of the directory, in seconds since 1970.
    var lastAccess: Double

    var keep: Int64? { statuses.lazy.compactMap { EntryDirectory.keep(markedBy: $0.name) }.first }

    /// A mark without a record protects nothing.
    var isPinned: Bool {
      [EntryRecord.fileName, EntryDirectory.pinName].allSatisfy { name in
        statuses.contains { $0.name == name }
      }
    }
  }

  struct Contents: Sendable {
    var files: Files
    var record: EntryRecord
    /// The readable bytes: synced, or written since the machine was booted.
    var spans: RangeSet<Int64>
    /// The highest number of the record and the journals: the next one gets a higher number.
    var lastEpoch: Int
    /// Of the data file; nil if it is missing.
    var data: FileStatus?
    var file: EntryFile?
    var warning: String?

    /// `spans` without those beyond the end of the data file.
    var spansInFile: RangeSet<Int64> {
      spans.intersection(RangeSet(0..<min(data?.size ?? 0, record.length ?? .max)))
    }
  }

  enum Problem: Error, CustomStringConvertible {
    case empty
    /// The entry is unusable; its files may be replaced.
    case broken(String)
    /// The disk failed, which says nothing about the entry: it must not be changed.
    case unreadable(DiskError)

    var description: String {
      switch self {
      case .empty: "it has no record"
      case .broken(let why): why
      case .unreadable(let failure): "it cannot be read now (\(failure))"
      }
    }

    func warning(of entry: String) -> String? {
      if case .empty = self { nil } else { "The entry \(entry) is ignored: \(self)." }
    }
  }

  /// Nil if there is no directory.
  func files() throws(DiskError) -> Files? {
    guard let own = try disk.status(of: path) else { return nil }
    var files = Files(allocatedBytes: own.allocated, lastAccess: own.changed)
    for name in try disk.names(in: path) {
      guard let status = try disk.status(of: "\(path)/\(name)") else { continue }
      if name == EntryRecord.fileName { files.lastAccess = status.changed }
      files.statuses.append((name, status))
      files.allocatedBytes += status.allocated
    }
    return files
  }

  /// Nil if none is readable. Journals may add spans to it.
  var writtenRecord: EntryRecord? {
    (try? disk.contents(of: recordPath)).flatMap { try? EntryRecord.decode($0) }
  }

  /// Opens the data file, too, and accepts only spans that it can hold.
  func load(_ mode: OpenMode = .read) throws(Problem) -> Contents {
    var contents = try reading { try read(opening: mode) }
    let held = contents.spansInFile
    if held != contents.spans {
      contents.warning =
        "The file of \(contents.record.url) is shorter than its record says "
        + "(\(path)/\(contents.record.file)); the rest is fetched again."
      contents.spans = held
    }
    return contents
  }

  /// Does not open the data file: for listing and checking thousands of entries.
  func loadRecord() throws(Problem) -> Contents { try reading { try read(opening: nil) } }

  /// Throws what a failure says about the entry.
  func reading<Value>(_ read: () throws -> Value) throws(Problem) -> Value {
    do { return try read() } catch {
      switch error {
      case let problem as Problem: throw problem
      case let failure as DiskError where !failure.isMissing && !failure.isObstacle:
        throw .unreadable(failure)
      default: throw .broken("a file of it is missing or unreadable (\(error))")
      }
    }
  }

  /// Lists the files, then reads the record, then what belongs to it: again if another process
  /// replaces the record meanwhile, or is shortening the data file. The order matters: a journal is
  /// removed after a record that claims its spans was written. So if none was listed, the record
  /// that is read afterwards claims everything.
  private func read(opening mode: OpenMode?) throws -> Contents {
    for attempt in 0..<300 {
      if attempt > 0 { usleep(useconds_t(min(attempt, 10) * 1000)) }
      guard let files = try files(), let bytes = try disk.contents(of: recordPath) else {
        throw Problem.empty
      }
      let record = try EntryRecord.decode(bytes)
      var contents = Contents(
        files: files, record: record, spans: RangeSet(record.spans), lastEpoch: record.epoch)
      do {
        let hasJournal = readJournals(&contents)
        let data = "\(path)/\(record.file)"
        if let mode {
          let file = try EntryFile(path: data, mode: mode, disk: disk)
          (contents.file, contents.data) = (file, try file.status())
          guard file.isLocked else { continue }
        } else {
          contents.data = try disk.status(of: data)
          if !hasJournal { return contents }
        }
        if try disk.contents(of: recordPath) == bytes { return contents }
      } catch {
        if try disk.contents(of: recordPath) == bytes { throw error }
      }
    }
    throw Problem.broken("another process keeps changing it")
  }

  /// Returns whether there are any.
  private func readJournals(_ contents: inout Contents) -> Bool {
    var hasJournal = false
    for (name, _) in contents.files.statuses {
      guard let epoch = SpanJournal.epoch(of: name, generation: contents.record.generation)
      else { continue }
      hasJournal = true
      guard epoch >= contents.record.epoch else { continue }
      contents.lastEpoch = max(contents.lastEpoch, epoch)
      // An unreadable journal only costs fetching its bytes again.
      guard let bytes = try? disk.contents(of: "\(path)/\(name)") else { continue }
      contents.spans.formUnion(SpanJournal.decode(bytes, bootIdentity: bootIdentity))
    }
    return hasJournal
  }
}
