// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// The stored part of one resource, as `ls` and `info` report it.
struct EntryReport: Sendable, Hashable, Encodable {
  var url: String
  var key: String
  /// Absent while the length is unknown.
  var length: Int64?
  var cachedBytes: Int64
  var allocatedBytes: Int64
  var isComplete: Bool
  var isInUse: Bool
  /// Whether it is never evicted.
  var isPinned: Bool
  var mimeType: String?
  var validator: String?
  var lastAccess: Date
  var file: String
  /// The stored ranges, as pairs of the first offset and the one after the last.
  var spans: [[Int64]]
  /// The key of the first manifest of the stream to which the resource belongs; absent if none is
  /// known.
  var stream: String?

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
    stream = entry.stream?.rawValue
  }

  /// `100%`, `61%`, or `?` while the length is unknown. 100 only if complete.
  var percent: String {
    if isComplete { return "100%" }
    guard let length, length > 0 else { return "?" }
    return "\(min(99, Int(Double(cachedBytes) / Double(length) * 100)))%"
  }

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
