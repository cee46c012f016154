// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// One row of the page: a resource, or a stream with all its parts. A value.
///
/// The strip of a resource counts bytes; that of a stream counts the parts that its playlists name,
/// in their order.
struct PageRow: Sendable, Hashable {
  enum Pinned: String, Sendable { case no, partly, yes }

  var key: CacheKey
  var url: String
  var type: String?
  /// The number of a stream's parts that are stored whole; nil for a resource.
  var parts: Int?
  /// The length of the strip: in bytes, or in parts; nil while unknown. That of a stream is unknown
  /// while no playlist of its parts is stored, and while it is live.
  var length: Int64?
  /// The stored bytes.
  var stored: Int64
  var disk: Int64
  var used: Int64
  var pinned: Pinned
  var rate: Int64
  /// The stored ranges of the strip.
  var spans: [ByteRange]
  /// Whether the spans were rounded, because there are too many to show.
  var isRounded = false
  var fetching: [ByteRange]
  var readers: [Int64]

  /// The most spans of a strip: no screen shows more.
  static let mostSpans = 256
  private static let cells: Int64 = 1024

  init(_ entry: PageEntry) {
    key = entry.key
    url = entry.url
    type = entry.type
    length = entry.length
    stored = entry.stored
    disk = entry.disk
    used = entry.used
    pinned = entry.isPinned ? .yes : .no
    rate = entry.rate
    spans = Array(entry.spans.ranges)
    fetching = Array(entry.fetching.prefix(Self.mostSpans))
    readers = Array(entry.readers.prefix(Self.mostSpans))
    round()
  }

  /// - Parameters:
  ///   - key: of the stream's first manifest.
  ///   - manifest: nil if it is not stored.
  ///   - parts: all others, in order.
  ///   - strip: by the stream's playlists; nil while unknown.
  init(
    stream key: CacheKey, manifest: PageEntry?, parts: [PageEntry], strip: PagePlan.Strip?
  ) {
    let all = [manifest].compactMap { $0 } + parts
    self.key = key
    url = manifest?.url ?? key.rawValue
    type = manifest?.type
    self.parts =
      strip.map { Int($0.whole) } ?? parts.count { $0.length == $0.stored && !$0.isManifest }
    length = strip?.length
    stored = all.reduce(0) { $0 + $1.stored }
    disk = all.reduce(0) { $0 + $1.disk }
    used = all.reduce(0) { max($0, $1.used) }
    rate = all.reduce(0) { $0 + $1.rate }
    let count = all.count { $0.isPinned }
    pinned = count == 0 ? .no : count == all.count ? .yes : .partly
    spans = strip?.spans ?? []
    fetching = Array((strip?.fetching ?? []).prefix(Self.mostSpans))
    readers = Array((strip?.readers ?? []).prefix(Self.mostSpans))
    round()
  }

  /// Keeps only cells of the strip that are stored whole, if there are too many spans.
  private mutating func round() {
    guard spans.count > Self.mostSpans, let length, length > Self.cells else { return }
    let cell = (length + Self.cells - 1) / Self.cells
    isRounded = true
    var rounded: [ByteRange] = []
    for span in spans {
      let start = (span.lowerBound + cell - 1) / cell * cell
      let end = span.upperBound == length ? length : span.upperBound / cell * cell
      if start < end { rounded.append(start..<end) }
    }
    spans = rounded
  }
}
