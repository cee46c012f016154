// SPDX-License-Identifier: MIT

/// A quality of a stream: a variant of HLS, a Representation of DASH.
package struct StreamVariant: Sendable, Hashable, StreamQuality {
  package var width: Int?
  package var height: Int?
  /// The peak in bits per second, of HLS with its sound; 0 if unknown.
  package var bandwidth: Int64
  package var averageBandwidth: Int64?
  package var codecs: String?
  package var frameRate: Double?

  /// Returns the size in bytes; nil if the bit rate is unknown.
  package func estimatedBytes(seconds: Double) -> Int64? {
    Self.bytes(averageBandwidth ?? bandwidth, seconds)
  }

  static func bytes(_ bitRate: Int64, _ seconds: Double) -> Int64? {
    guard bitRate > 0, seconds > 0 else { return nil }
    return Int64(min(Double(bitRate) / 8 * seconds, 9e18))
  }
}

/// A track of a stream's sound or subtitles: a rendition of HLS, an AdaptationSet of DASH.
package struct StreamRendition: Sendable, Hashable, StreamTrack {
  package enum Kind: String, Sendable {
    case audio
    case video
    case subtitles
    case closedCaptions = "closed-captions"
  }

  package var kind: Kind
  package var language: String?
  package var name: String
  package var isDefault: Bool
  package var isAutoselect: Bool
  package var isForced: Bool
  package var channels: String?
}

// MARK: HLS

extension StreamVariant {
  package init(_ variant: HLSMultivariantPlaylist.Variant) {
    (width, height) = (variant.width, variant.height)
    (bandwidth, averageBandwidth) = (variant.bandwidth, variant.averageBandwidth)
    (codecs, frameRate) = (variant.codecs, variant.frameRate)
  }
}

extension StreamRendition {
  package init(_ rendition: HLSMultivariantPlaylist.Rendition) {
    kind =
      switch rendition.type {
      case .audio: .audio
      case .video: .video
      case .subtitles: .subtitles
      case .closedCaptions: .closedCaptions
      }
    (language, name, channels) = (rendition.language, rendition.name, rendition.channels)
    (isDefault, isAutoselect) = (rendition.isDefault, rendition.isAutoselect)
    isForced = rendition.isForced
  }
}

extension HLSMultivariantPlaylist.Variant {
  /// The size of the variant with its audio in bytes; nil if its bit rate is unknown.
  package func estimatedBytes(seconds: Double) -> Int64? {
    StreamVariant(self).estimatedBytes(seconds: seconds)
  }
}

// MARK: DASH

extension StreamVariant {
  package init(_ representation: DASHPresentation.Representation) {
    (width, height) = (representation.width, representation.height)
    (bandwidth, averageBandwidth) = (representation.bandwidth, nil)
    (codecs, frameRate) = (representation.codecs, representation.frameRate)
  }
}

extension StreamRendition {
  init(_ set: DASHPresentation.AdaptationSet, isDefault: Bool) {
    kind =
      switch set.kind {
      case .video: .video
      case .audio: .audio
      case .text, .other: .subtitles
      }
    language = set.language
    name = set.label ?? set.roles.first { $0 != "main" } ?? ""
    (self.isDefault, isAutoselect) = (isDefault, true)
    isForced = set.roles.contains { $0 == "forced-subtitle" || $0 == "forced_subtitle" }
    channels = set.channels
  }
}
