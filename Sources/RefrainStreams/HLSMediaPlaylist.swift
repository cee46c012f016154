// SPDX-License-Identifier: MIT
package import Foundation
package import Refrain

/// A media playlist: the segments of a variant or a rendition (RFC 8216 §4.3.2–3). References are
/// neither resolved nor checked.
package struct HLSMediaPlaylist: Sendable {
  package struct Segment: Sendable, Hashable {
    package var uri: String
    /// In seconds; 0 if the playlist does not state a valid one.
    package var duration: Double
    /// The bytes of the segment in the resource; nil if it is the whole resource.
    package var byteRange: ByteRange?
    /// In bits per second (EXT-X-BITRATE, draft-pantos-hls-rfc8216bis §4.4.4.8); nil if the
    /// playlist does not state it, or the segment is a byte range.
    package var bitRate: Int64?
    /// Whether the origin does not have the segment.
    package var isGap: Bool
    /// The keys that apply, one of each format, as indices of `keys`.
    package var keys: [Int]
    /// The initialization, as an index of `maps`.
    package var map: Int?
    /// The media sequence number.
    package var sequence: Int64
  }

  /// The initialization of segments.
  package struct Map: Sendable, Hashable {
    package var uri: String
    package var byteRange: ByteRange?
  }

  package enum PlaylistType: String, Sendable {
    case vod = "VOD"
    case event = "EVENT"

    /// - Parameter value: of EXT-X-PLAYLIST-TYPE.
    init?(_ value: ArraySlice<UInt8>) {
      self.init(rawValue: String(decoding: value.prefix(8), as: UTF8.self))
    }
  }

  package fileprivate(set) var segments: [Segment] = []
  /// The different keys, without `NONE`.
  package fileprivate(set) var keys: [HLSKey] = []
  /// The different initializations.
  package fileprivate(set) var maps: [Map] = []
  /// In seconds. The longest segment's duration if the playlist does not state one.
  package fileprivate(set) var targetDuration = 0.0
  /// The sequence number of the first segment.
  package fileprivate(set) var mediaSequence: Int64 = 0
  /// The segments that a delta update leaves out. They have no elements in `segments`.
  package fileprivate(set) var skippedSegments: Int64 = 0
  /// Whether the origin adds no more segments.
  package fileprivate(set) var isEnded = false
  package fileprivate(set) var type: PlaylistType?
  /// The sum of the durations of the segments, in seconds.
  package fileprivate(set) var totalDuration = 0.0

  /// Whether the origin may add or remove segments.
  package var isLive: Bool { !isEnded && type != .vod }

  /// Nil also if the body is a media playlist that cannot be read completely.
  package init?(_ body: [UInt8], url: URL, imported: [String: String] = [:]) {
    guard let playlist = try? Self.read(body, url: url, imported: imported) else { return nil }
    self = playlist
  }

  /// Returns the playlist; nil if the body is no media playlist: it has variants, or it is a list of
  /// songs, without tags of HLS.
  ///
  /// - Parameters:
  ///   - url: the URL of the response, after redirects.
  ///   - imported: the variables of the multivariant playlist that names this one.
  /// - Throws: `MediaCacheError`, if the playlist cannot be read completely.
  package static func read(
    _ body: [UInt8], url: URL, imported: [String: String] = [:]
  ) throws(MediaCacheError) -> Self? {
    guard let reader = HLSReader(body, url: url, imported: imported) else { return nil }
    var parser = HLSMediaPlaylistParser(playlist: Self(), reader: reader)
    guard parser.followLines() else { return nil }
    try parser.reader.checkCompleteness()
    return parser.playlist
  }

  private init() {}
}

/// A key of an HLS stream (RFC 8216 §4.3.2.4).
package struct HLSKey: Sendable, Hashable {
  /// `AES-128`, `SAMPLE-AES`, `NONE`, …
  package var method: String
  package var uri: String?
  /// `identity` where the playlist does not state a format: the resource is the key itself.
  package var keyFormat: String
}

/// Follows the tags of a media playlist, which apply to the next segment or to all later ones.
private struct HLSMediaPlaylistParser {
  private(set) var playlist: HLSMediaPlaylist
  private(set) var reader: HLSReader
  /// The next segment as far as the tags have described it.
  private var next = HLSMediaPlaylist.Segment(
    uri: "", duration: 0, isGap: false, keys: [], sequence: 0)
  /// Whether EXTINF has described the next segment: a URI without it is none.
  private var hasNext = false
  private var byteRange: ArraySlice<UInt8>?
  private var longestSegment = 0.0
  private var keyIndices: [HLSKey: Int] = [:]
  private var mapIndices: [HLSMediaPlaylist.Map: Int] = [:]

  /// The formats of keys that may apply at once. Real streams have one for each system of content
  /// protection.
  private static let mostActiveKeys = 16

  init(playlist: HLSMediaPlaylist, reader: HLSReader) {
    (self.playlist, self.reader) = (playlist, reader)
  }

  /// - Returns: whether the lines are those of a media playlist.
  mutating func followLines() -> Bool {
    var isMediaPlaylist = false
    var target: Double?
    while let line = reader.next() {
      switch line.content {
      case .uri:
        if hasNext { appendSegment(line.text) }
        (hasNext, byteRange, next.isGap) = (false, nil, false)
      case .tag(.variant, _): return false
      case .tag(let tag, let value):
        isMediaPlaylist = isMediaPlaylist || tag.isOfMediaPlaylist
        if tag == .targetDuration { target = value.seconds ?? target }
        follow(tag, value)
      case .comment: break
      }
    }
    playlist.targetDuration = target ?? longestSegment
    return isMediaPlaylist
  }

  private mutating func follow(_ tag: HLSTag, _ value: ArraySlice<UInt8>) {
    switch tag {
    case .segment: (hasNext, next.duration) = (true, value.seconds ?? 0)
    case .byteRange: byteRange = value
    case .gap: next.isGap = true
    case .bitRate:
      let kilobits = value.integer ?? 0
      next.bitRate = kilobits > 0 ? min(kilobits, .max / 1000) * 1000 : nil
    case .key: followKey(HLSAttributes(value))
    case .map: followMap(HLSAttributes(value))
    case .mediaSequence:
      if playlist.segments.isEmpty, let first = value.integer {
        (playlist.mediaSequence, next.sequence) = (first, first)
      }
    case .skip:
      let skipped = HLSAttributes(value)["SKIPPED-SEGMENTS"]?.integer ?? 0
      playlist.skippedSegments = playlist.skippedSegments.addingSaturated(skipped)
      next.sequence = next.sequence.addingSaturated(skipped)
    case .playlistType:
      playlist.type = HLSMediaPlaylist.PlaylistType(value) ?? playlist.type
    case .end: playlist.isEnded = true
    default: break
    }
  }

  private mutating func appendSegment(_ spelling: ArraySlice<UInt8>) {
    var segment = next
    next.sequence = next.sequence.addingSaturated(1)
    guard let uri = reader.text(spelling) else { return }
    segment.uri = uri
    // Without an offset, a range continues the one before (RFC 8216 §4.3.2.2).
    let previous = playlist.segments.last.flatMap { $0.uri == uri ? $0.byteRange : nil }
    segment.byteRange = byteRange?.byteRange(continuingAt: previous?.upperBound ?? 0)
    if segment.byteRange != nil { segment.bitRate = nil }
    longestSegment = max(longestSegment, segment.duration)
    playlist.totalDuration += segment.duration
    playlist.segments.append(segment)
  }

  /// A key replaces the one of the same format; `NONE` ends all.
  private mutating func followKey(_ attributes: HLSAttributes) {
    let key = HLSKey(
      method: reader.text(attributes["METHOD"]) ?? "NONE", uri: reader.text(attributes["URI"]),
      keyFormat: reader.text(attributes["KEYFORMAT"]) ?? "identity")
    guard key.method != "NONE" else {
      next.keys = []
      return
    }
    next.keys.removeAll { playlist.keys[$0].keyFormat == key.keyFormat }
    if next.keys.count == Self.mostActiveKeys { next.keys.removeFirst() }
    next.keys.append(Self.index(of: key, in: &playlist.keys, &keyIndices))
  }

  private mutating func followMap(_ attributes: HLSAttributes) {
    guard let uri = reader.text(attributes["URI"]) else {
      next.map = nil
      return
    }
    let range = attributes["BYTERANGE"]?.byteRange(continuingAt: 0)
    let map = HLSMediaPlaylist.Map(uri: uri, byteRange: range)
    next.map = Self.index(of: map, in: &playlist.maps, &mapIndices)
  }

  /// Returns the index of an element, which is appended if the list does not have it.
  private static func index<Element: Hashable>(
    of element: Element, in list: inout [Element], _ indices: inout [Element: Int]
  ) -> Int {
    if let known = indices[element] { return known }
    indices[element] = list.count
    list.append(element)
    return list.count - 1
  }
}

extension Int64 {
  /// Returns the sum; a sum that becomes too large becomes the greatest number.
  package func addingSaturated(_ other: Int64) -> Int64 {
    let (sum, overflowed) = addingReportingOverflow(other)
    return overflowed ? .max : sum
  }
}
