// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// What is known of one entry: what is recorded of it, and what is going on. A value.
struct PageEntry: Sendable, Hashable {
  /// Nil before it is recorded.
  var summary: EntrySummary?
  /// Nil while it is not open.
  var activity: EntryActivity?
  /// Bytes per second from the origin.
  var rate: Int64 = 0

  var url: String { (activity?.url ?? summary?.url)?.absoluteString ?? "" }
  var type: String? { activity?.mimeType ?? summary?.mimeType }
  /// In bytes; nil while unknown.
  var length: Int64? { activity?.length ?? summary?.length }
  var spans: RangeSet<Int64> { activity?.spans ?? summary?.spans ?? RangeSet() }
  var stored: Int64 { spans.ranges.reduce(0) { $0 + $1.upperBound - $1.lowerBound } }
  /// In bytes. The blocks are counted when the entry is recorded.
  var disk: Int64 { max(summary?.allocatedBytes ?? 0, activity == nil ? 0 : stored) }
  /// In seconds since 1970; 0 before it is recorded.
  var used: Int64 { Int64(summary?.lastAccess.timeIntervalSince1970 ?? 0) }
  var isPinned: Bool { summary?.isPinned ?? false }
  /// The key of the first manifest of its stream; nil if it belongs to none.
  var stream: CacheKey? { activity?.group ?? summary?.group }

  /// Whether it is all of a resource that is no manifest.
  fileprivate var isWholePart: Bool {
    guard length == stored else { return false }
    return URL(string: url).map { !Manifest.isNamed(mimeType: type, url: $0) } ?? true
  }
}

/// One row of the page: a resource, or a stream with all its parts; or a download of which nothing
/// is stored yet. A value.
struct PageRow: Sendable, Hashable, Encodable {
  enum Pinned: String, Sendable, Encodable { case no, partly, yes }

  var key: CacheKey
  var url: String
  var type: String?
  /// The number of a stream's parts that are stored whole; nil for a resource.
  var parts: Int?
  /// The length of a resource in bytes; nil while unknown, and for a stream.
  var length: Int64?
  /// In bytes.
  var stored: Int64
  /// In bytes.
  var disk: Int64
  /// In seconds since 1970.
  var used: Int64
  var pinned: Pinned
  /// Bytes per second from the origin.
  var rate: Int64
  /// The bounds of the stored ranges, one after the other; none for a stream.
  var spans: [Int64]
  /// The bounds of what is to arrive, likewise.
  var fetching: [Int64]
  /// The positions of the readers that play; of a stream, each in its part.
  var readers: [Int64]
  var download: PageDownloads.Item?

  /// The most spans and readers of a strip: no screen shows more.
  static let mostSpans = 256
  private static let cells: Int64 = 1024

  /// - Parameters:
  ///   - own: the resource's entry, or that of the stream's first manifest; nil if it is not stored.
  ///   - parts: all others of the stream; nil for a resource.
  init(
    _ key: CacheKey, _ own: PageEntry?, parts: [PageEntry]? = nil,
    download: PageDownloads.Item? = nil
  ) {
    let all = [own].compactMap { $0 } + (parts ?? [])
    self.key = key
    url = own?.url ?? download?.url ?? key.rawValue
    type = own?.type
    self.parts = parts?.count(where: \.isWholePart)
    length = parts == nil ? own?.length : nil
    stored = all.reduce(0) { $0 + $1.stored }
    disk = all.reduce(0) { $0 + $1.disk }
    used = all.reduce(0) { max($0, $1.used) }
    let count = all.count(where: \.isPinned)
    pinned = count == 0 ? .no : count == all.count ? .yes : .partly
    rate = all.reduce(0) { $0 + $1.rate }
    spans = parts == nil ? Self.shown(own?.spans, of: own?.length) : []
    let activities = all.compactMap(\.activity)
    fetching = Self.bounds(activities.flatMap(\.fetching).prefix(Self.mostSpans))
    readers = Array(activities.flatMap(\.readers).prefix(Self.mostSpans))
    self.download = download
  }

  private static func bounds(_ ranges: some Sequence<ByteRange>) -> [Int64] {
    ranges.flatMap { [$0.lowerBound, $0.upperBound] }
  }

  /// Returns the bounds of spans; of too many, those of the cells that are stored whole.
  private static func shown(_ spans: RangeSet<Int64>?, of length: Int64?) -> [Int64] {
    guard let spans else { return [] }
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
