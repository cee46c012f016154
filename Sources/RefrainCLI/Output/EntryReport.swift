// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// The stored part of a resource, or of a stream as a whole, as `ls` and `info` report it.
struct EntryReport: Sendable, Hashable, Encodable {
  /// Of a stream, the URL of its first manifest, or its key if none is known.
  var url: String
  var key: String
  /// Absent while the length is unknown, and for a stream.
  var length: Int64?
  /// Of a stream, those of all its parts.
  var cachedBytes: Int64
  var allocatedBytes: Int64
  /// Of a stream, whether a quality is stored as a whole, and nothing in part; absent if that is
  /// unknown.
  var isComplete: Bool?
  var isInUse: Bool
  /// Whether it is never evicted.
  var isPinned: Bool
  var mimeType: String?
  var validator: String?
  var lastAccess: Date
  /// Of a stream, the file of its first manifest; absent if that is not stored.
  var file: String?
  /// The stored ranges, as pairs of the first offset and the one after the last; none of a stream.
  var spans: [[Int64]] = []
  /// The key of the first manifest of the stream to which the resource belongs; absent if none is
  /// known.
  var stream: String?
  /// The number of a stream's stored playlists, segments and keys, without the first manifest.
  var parts: Int?
  /// Whether some of a stream is pinned, but not all.
  var isPartlyPinned: Bool?
  /// The playing time of which a stream's segments are stored, in seconds; absent if unknown.
  var storedSeconds: Double?

  init(_ item: StoredItem) {
    switch item {
    case .entry(let entry): self.init(entry)
    case .group(let stream): self.init(stream)
    }
  }

  init(_ entry: EntrySummary) {
    url = entry.url.absoluteString
    key = entry.key.rawValue
    length = entry.length
    cachedBytes = entry.cachedBytes
    allocatedBytes = entry.allocatedBytes
    isComplete = entry.isComplete
    isInUse = entry.isInUse
    isPinned = entry.isPinned
    mimeType = entry.mimeType
    validator = entry.validator
    lastAccess = entry.lastAccess
    file = entry.file.path(percentEncoded: false)
    spans = entry.spans.ranges.map { [$0.lowerBound, $0.upperBound] }
    stream = entry.group?.rawValue
  }

  init(_ stream: GroupSummary) {
    url = stream.url?.absoluteString ?? stream.key.rawValue
    key = stream.key.rawValue
    parts = stream.parts
    cachedBytes = stream.cachedBytes
    allocatedBytes = stream.allocatedBytes
    isInUse = stream.isInUse
    isPinned = stream.isPinned
    isPartlyPinned = stream.isPartlyPinned
    mimeType = stream.first?.mimeType
    validator = stream.first?.validator
    lastAccess = stream.lastAccess
    file = stream.first?.file.path(percentEncoded: false)
  }

  // MARK: Text

  /// `100%`, or the number of parts of a stream.
  var stored: String { parts.map(Self.partsText) ?? percent }

  /// `100%`, `61%`, or `?` while the length is unknown. 100 only if complete.
  var percent: String {
    if isComplete == true { return "100%" }
    guard let length, length > 0 else { return "?" }
    return "\(min(99, Int(Double(cachedBytes) / Double(length) * 100)))%"
  }

  /// `1 part`, `312 parts`
  static func partsText(_ count: Int) -> String { "\(count) \(count == 1 ? "part" : "parts")" }

  /// `yes`, `partly`, or nothing.
  var pinned: String { isPinned ? "yes" : isPartlyPinned == true ? "partly" : "" }

  /// Returns a map of the stored parts, `██░░░██░`. A cell is full only if all its bytes are
  /// stored.
  func map(width: Int, style: BarStyle) -> String? {
    guard let length, length > 0, width > 0 else { return nil }
    let marks: (full: Character, part: Character, none: Character) =
      style == .blocks ? ("█", "▒", "░") : ("#", "-", ".")
    let stored = RangeSet(spans.compactMap { $0.count == 2 ? $0[0]..<$0[1] : nil })
    let cells = (0..<Int64(width)).map { index -> Character in
      let start = Self.scaled(length, index, width)
      let cell = start..<max(start + 1, Self.scaled(length, index + 1, width))
      let there = stored.intersection(RangeSet(cell)).ranges.reduce(0) { $0 + Int64($1.count) }
      return there == 0 ? marks.none : there == Int64(cell.count) ? marks.full : marks.part
    }
    return String(cells)
  }

  private static func scaled(_ length: Int64, _ index: Int64, _ width: Int) -> Int64 {
    Int64(Double(length) * Double(index) / Double(width))
  }
}
