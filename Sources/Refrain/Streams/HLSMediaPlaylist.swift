// SPDX-License-Identifier: MIT
package import Foundation

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
  }

  package internal(set) var segments: [Segment] = []
  /// The different keys, without `NONE`.
  package internal(set) var keys: [HLSKey] = []
  /// The different initializations.
  package internal(set) var maps: [Map] = []
  /// In seconds. The longest segment's duration if the playlist does not state one.
  package internal(set) var targetDuration = 0.0
  /// In seconds; nil if the stream is not a low-latency one.
  package internal(set) var partTarget: Double?
  /// The sequence number of the first segment.
  package internal(set) var mediaSequence: Int64 = 0
  /// The segments that a delta update leaves out. They have no elements in `segments`.
  package internal(set) var skippedSegments: Int64 = 0
  /// Whether the origin adds no more segments.
  package internal(set) var isEnded = false
  package internal(set) var type: PlaylistType?
  /// The sum of the durations of the segments, in seconds.
  package internal(set) var totalDuration = 0.0
  /// Whether the playlist has parts of segments.
  package internal(set) var hasParts = false

  /// Nil also if the body is a media playlist that cannot be read completely (`HLSProblem`).
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
  package static func read(
    _ body: [UInt8], url: URL, imported: [String: String] = [:]
  ) throws(HLSProblem) -> Self? {
    guard let reader = HLSReader(body, url: url, imported: imported) else { return nil }
    var parser = HLSMediaPlaylistParser(reader, into: Self())
    return try parser.parsed()
  }

  private init() {}
}
