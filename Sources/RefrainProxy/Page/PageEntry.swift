// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// One stored resource, as the page knows it. A value.
struct PageEntry: Sendable, Hashable {
  var key: CacheKey
  var url: String
  var type: String?
  /// The length in bytes; nil while unknown.
  var length: Int64?
  /// The stored ranges.
  var spans: RangeSet<Int64>
  /// The disk space in bytes.
  var disk: Int64
  /// Seconds since 1970.
  var used: Int64
  var isPinned: Bool
  /// The key of the first manifest of its stream; nil if it belongs to none.
  var stream: CacheKey?
  var fetching: [ByteRange] = []
  /// The positions of the readers that play.
  var readers: [Int64] = []
  /// Bytes per second from the origin.
  var rate: Int64 = 0

  var stored: Int64 { spans.ranges.reduce(0) { $0 + $1.upperBound - $1.lowerBound } }

  /// Whether the resource is named a manifest.
  var isManifest: Bool {
    URL(string: url).map { Manifest.isNamed(mimeType: type, url: $0) } ?? false
  }
}

extension PageEntry {
  init(_ summary: EntrySummary) {
    self.init(
      key: summary.key, url: summary.url.absoluteString, type: summary.mimeType,
      length: summary.length, spans: summary.spans, disk: summary.allocatedBytes,
      used: Int64(summary.lastAccess.timeIntervalSince1970), isPinned: summary.isPinned,
      stream: summary.stream)
  }

  init(_ activity: EntryActivity, used: Int64) {
    self.init(
      key: activity.key, url: activity.url.absoluteString, spans: activity.spans, disk: 0,
      used: used, isPinned: false)
    update(activity, rate: 0)
  }

  /// Adopts the state of the open entry.
  mutating func update(_ activity: EntryActivity, rate: Int64) {
    type = activity.mimeType ?? type
    length = activity.length ?? length
    spans = activity.spans
    stream = activity.stream ?? stream
    fetching = activity.fetching
    readers = activity.readers
    self.rate = rate
    // The blocks are counted when the entry is recorded.
    disk = max(disk, stored)
  }

  /// Records that the entry is not open any more.
  mutating func rest() { (fetching, readers, rate) = ([], [], 0) }

  /// Adopts what a newer look at the disk shows; what is going on stays.
  func adopting(_ summary: EntrySummary) -> PageEntry {
    var entry = PageEntry(summary)
    (entry.fetching, entry.readers, entry.rate) = (fetching, readers, rate)
    return entry
  }
}
