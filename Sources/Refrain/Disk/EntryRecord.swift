// SPDX-License-Identifier: MIT
import Foundation

/// The sidecar of an entry: the contents of the data file beside it, and their resource. Replaced
/// as a whole by rename(2), so that a reader sees either the old record or the new one.
struct EntryRecord: Codable, Sendable, Hashable {
  static let version = 2
  static let fileName = "entry.json"
  /// A bound that no valid epoch approaches.
  static let epochLimit = 1 << 52

  var version = EntryRecord.version
  var key: String
  var url: String
  var finalURL: String
  /// The generation's name, from which its file names are derived.
  var generation: String
  var file: String
  var length: Int64?
  var mimeType: String?
  var supportsRanges: Bool
  var validator: Validator
  var freshness: Freshness
  /// The response's other fields, name and value in turn. Absent in older records.
  var headers: [String]?
  /// The request's values of the fields in Vary.
  var variant: String?
  /// Whether a shared cache may use it.
  var isSharable: Bool?
  /// When a request was made that may have changed the resource.
  var invalidatedAt: Date?
  /// The key of the first resource of the group to which the resource belongs
  /// (`ResourcePolicy.Group`); absent where none is known.
  var group: String?
  /// The spans whose bytes were synced before this was written (`SpanList`).
  var spans: [Int64]
  /// Increases with every replacement. Journals with this number or a higher one add to `spans`.
  var epoch: Int

  var storedHeaders: HeaderFields {
    let texts = headers ?? []
    return HeaderFields(
      stride(from: 0, to: texts.count - 1, by: 2).map { (texts[$0], texts[$0 + 1]) })
  }

  func encoded() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return [UInt8](try encoder.encode(self))
  }

  /// Reads a record, and checks everything that can be checked without the other files.
  static func decode(_ bytes: [UInt8]) throws(EntryDirectory.Problem) -> (
    EntryRecord, RangeSet<Int64>
  ) {
    struct Version: Decodable { var version: Int }
    let data = Data(bytes)
    let record = try? JSONDecoder().decode(EntryRecord.self, from: data)
    // A later version may have other members.
    let version = record?.version ?? (try? JSONDecoder().decode(Version.self, from: data))?.version
    if let version, version > EntryRecord.version { throw .newer(version) }
    guard let record else { throw damaged("it cannot be parsed") }
    // An earlier version did not record the group.
    guard record.version == EntryRecord.version else {
      throw damaged("its version is \(record.version)")
    }
    guard let spans = SpanList.decode(record.spans) else { throw damaged("its spans are invalid") }
    if let length = record.length {
      guard length >= 0 else { throw damaged("its length is negative") }
      guard (spans.ranges.last?.upperBound ?? 0) <= length else {
        throw damaged("its spans exceed its length")
      }
    }
    guard (0..<epochLimit).contains(record.epoch) else { throw damaged("its epoch is invalid") }
    guard isPlainName(record.file), isPlainName(record.generation) else {
      throw damaged("its file name is invalid")
    }
    return (record, spans)
  }

  private static func damaged(_ why: String) -> EntryDirectory.Problem {
    .broken("its record is damaged: \(why)")
  }

  /// Whether `name` is only a file name in the entry's own directory.
  static func isPlainName(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.count <= 128 && name != fileName
      && !EntryDirectory.isMark(name) && !name.hasPrefix(".")
      && name.utf8.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789-.".utf8.contains($0) }
  }
}
