// SPDX-License-Identifier: MIT
import Foundation

/// The periods, tracks and qualities of a DASH stream, from its manifest, the MPD
/// (ISO/IEC 23009-1 §5.3). The segments are counted on demand.
///
/// Of several BaseURLs of one level, which are alternatives, the first counts (§5.6.4).
package struct DASHPresentation: Sendable {
  package enum MediaKind: Sendable, Hashable {
    case video
    case audio
    /// Subtitles.
    case text
    /// Thumbnails and application data.
    case other
  }

  /// A quality, or what an element states about those in it.
  package struct Representation: Sendable {
    package var id = ""
    /// In bits per second; 0 if the MPD does not state it.
    package var bandwidth: Int64 = 0
    package var width: Int?
    package var height: Int?
    package var codecs: String?
    package var frameRate: Double?
    /// Whether it cannot be decoded without another one.
    package var isDependent = false
    /// The bytes of the element.
    package var bytes = 0..<0
    /// The base of its references; nil if that is too long.
    var base: URL?
    /// Whether a BaseURL was given, so that the base may be a segment itself.
    var hasBase = false
    /// Nil: the base is the only segment.
    var segments: DASHSegments?
  }

  /// Representations of the same content, among which a player switches.
  package struct AdaptationSet: Sendable {
    package var kind: MediaKind
    /// RFC 5646; nil if unknown.
    package var language: String?
    package var label: String?
    /// Of the scheme `urn:mpeg:dash:role:2011`, such as `main` or `commentary`.
    package var roles: [String]
    /// The number of audio channels, as the MPD spells it.
    package var channels: String?
    /// Sets with a higher one are preferred (§5.3.3.2).
    package var priority: Int64
    /// Whether it contains pictures for fast forward and rewind alone.
    package var isTrickPlay: Bool
    /// The bytes of the element.
    package var bytes: Range<Int>
    package var representations: [Representation]
  }

  package struct Period: Sendable {
    /// In seconds; nil if unknown.
    package var duration: Double?
    package var sets: [AdaptationSet]
  }

  /// Whether the origin may add or remove segments.
  package var isDynamic: Bool
  package var periods: [Period]
  /// In seconds; nil if unknown.
  package var duration: Double?
}

/// The reason why the segments of a DASH stream are not known.
package struct DASHProblem: Error, Sendable, Hashable {
  /// Follows the URL of the MPD and a colon.
  package var reason: String

  static let isRemote = DASHProblem(reason: "a part of its manifest lies elsewhere (xlink).")
  static let namesNoSegments = DASHProblem(reason: "its manifest names no segments.")
  static let hasLongURLs = DASHProblem(reason: "the URLs of its segments are too long.")
  package static let isTooLarge = DASHProblem(reason: "its manifest describes too many segments.")
}
