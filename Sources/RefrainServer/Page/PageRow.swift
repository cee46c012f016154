// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// One row of the page: a resource, or a stream with all its parts; or a download of which nothing
/// is stored yet. A value.
struct PageRow: Sendable, Hashable, Encodable {
  enum Pinned: String, Sendable, Encodable { case no, partly, yes }

  var key: CacheKey
  var url: String
  var type: String?
  /// The number of a stream's parts that are stored whole; nil for a resource.
  var parts: Int?
  /// In bytes; nil while unknown, and for a stream.
  var length: Int64?
  /// In bytes.
  var stored: Int64 = 0
  /// In bytes.
  var disk: Int64 = 0
  /// In seconds since 1970; 0 before anything is recorded.
  var used: Int64 = 0
  var pinned = Pinned.no
  /// Bytes per second from the origin.
  var rate: Int64 = 0
  /// The bounds of the stored ranges, one after the other; none for a stream.
  var spans: [Int64] = []
  /// The bounds of what is to arrive, likewise.
  var fetching: [Int64] = []
  /// The positions of the readers that play; of a stream, each in its part.
  var readers: [Int64] = []
  var download: PageDownloads.Item?

  /// The key of the stream's first manifest; nil if the resource belongs to none.
  var stream: CacheKey?
  /// Whether all of it is stored, and it is no manifest.
  var isWholePart = false

  private enum CodingKeys: String, CodingKey {
    case key, url, type, parts, length, stored, disk, used, pinned, rate, spans, fetching, readers
    case download
  }

  /// The most spans and readers of a strip: no screen shows more.
  static let mostSpans = 256
  private static let cells: Int64 = 1024

  init(key: CacheKey, url: String) { (self.key, self.url) = (key, url) }

  /// Returns nil if there is no entry. `activity` is nil while it is not open.
  init?(_ summary: EntrySummary?, _ activity: EntryActivity?, rate: Int64 = 0) {
    guard let key = activity?.key ?? summary?.key, let url = activity?.url ?? summary?.url,
      let spans = activity?.spans ?? summary?.spans
    else { return nil }
    // Nothing is shown of what may never be stored.
    if summary == nil, spans.isEmpty, activity?.fetching.isEmpty != false { return nil }
    self.init(key: key, url: url.absoluteString)
    type = activity?.mimeType ?? summary?.mimeType
    length = activity?.length ?? summary?.length
    stored = spans.ranges.reduce(0) { $0 + $1.upperBound - $1.lowerBound }
    // The blocks are counted when the entry is recorded.
    disk = max(summary?.allocatedBytes ?? 0, activity == nil ? 0 : stored)
    used = Int64(summary?.lastAccess.timeIntervalSince1970 ?? 0)
    pinned = summary?.isPinned == true ? .yes : .no
    self.rate = rate
    self.spans = Self.shown(spans, of: length)
    fetching = Self.bounds(activity?.fetching.prefix(Self.mostSpans) ?? [])
    readers = Array(activity?.readers.prefix(Self.mostSpans) ?? [])
    stream = activity?.group ?? summary?.group
    isWholePart = length == stored && !Manifest.isNamed(mimeType: type, url: url)
  }

  /// The stream's first manifest may be missing.
  init(stream key: CacheKey, entries: [PageRow]) {
    let first = entries.first { $0.key == key }
    self.init(key: key, url: first?.url ?? key.rawValue)
    type = first?.type
    parts = entries.count { $0.isWholePart && $0.key != key }
    for entry in entries {
      stored += entry.stored
      disk += entry.disk
      used = max(used, entry.used)
      rate += entry.rate
      fetching += entry.fetching
      readers += entry.readers
    }
    fetching = Array(fetching.prefix(2 * Self.mostSpans))
    readers = Array(readers.prefix(Self.mostSpans))
    let pins = entries.count { $0.pinned == .yes }
    pinned = pins == 0 ? .no : pins == entries.count ? .yes : .partly
  }

  /// Groups the entries of a stream under the key of its first manifest. Takes linear time.
  static func members(_ entries: [CacheKey: PageRow]) -> [CacheKey: [PageRow]] {
    let all = Array(entries.values)
    let roots = GroupRoots(all.lazy.map { (key: $0.key, group: $0.stream) })
    return Dictionary(grouping: all) { roots.root(of: $0.key, group: $0.stream) ?? $0.key }
  }

  static func rows(
    _ members: [CacheKey: [PageRow]], _ downloads: [CacheKey: PageDownloads.Item]
  ) -> [CacheKey: PageRow] {
    var rows = members.reduce(into: [CacheKey: PageRow](minimumCapacity: members.count)) {
      let (key, entries) = $1
      // A manifest alone is a resource.
      $0[key] =
        entries.count == 1 && entries[0].key == key
        ? entries[0] : PageRow(stream: key, entries: entries)
    }
    for (key, item) in downloads {
      rows[key, default: PageRow(key: key, url: item.url)].download = item
    }
    return rows
  }

  private static func bounds(_ ranges: some Sequence<ByteRange>) -> [Int64] {
    ranges.flatMap { [$0.lowerBound, $0.upperBound] }
  }

  /// Returns the bounds of spans; of too many, those of the cells that are stored whole.
  private static func shown(_ spans: RangeSet<Int64>, of length: Int64?) -> [Int64] {
    guard spans.ranges.count > mostSpans, let length, length > cells else {
      return bounds(spans.ranges)
    }
    let cell = (length + cells - 1) / cells
    return bounds(
      spans.ranges.compactMap { span in
        let start = (span.lowerBound + cell - 1) / cell * cell
        let end = span.upperBound == length ? length : span.upperBound / cell * cell
        return start < end ? start..<end : nil
      })
  }
}
