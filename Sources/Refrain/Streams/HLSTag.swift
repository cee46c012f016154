// SPDX-License-Identifier: MIT

/// The tags of an HLS playlist that matter here (RFC 8216 §4.3; draft-pantos-hls-rfc8216bis §4.4).
enum HLSTag: String {
  case byteRange = "EXT-X-BYTERANGE"
  case contentSteering = "EXT-X-CONTENT-STEERING"
  case dateRange = "EXT-X-DATERANGE"
  case define = "EXT-X-DEFINE"
  case discontinuity = "EXT-X-DISCONTINUITY"
  case end = "EXT-X-ENDLIST"
  case gap = "EXT-X-GAP"
  case iFrameVariant = "EXT-X-I-FRAME-STREAM-INF"
  case key = "EXT-X-KEY"
  case map = "EXT-X-MAP"
  case mediaSequence = "EXT-X-MEDIA-SEQUENCE"
  case part = "EXT-X-PART"
  case partInformation = "EXT-X-PART-INF"
  case playlistType = "EXT-X-PLAYLIST-TYPE"
  case preloadHint = "EXT-X-PRELOAD-HINT"
  case rendition = "EXT-X-MEDIA"
  case renditionReport = "EXT-X-RENDITION-REPORT"
  case segment = "EXTINF"
  case sessionData = "EXT-X-SESSION-DATA"
  case sessionKey = "EXT-X-SESSION-KEY"
  case skip = "EXT-X-SKIP"
  case targetDuration = "EXT-X-TARGETDURATION"
  case variant = "EXT-X-STREAM-INF"

  /// The kind of the references in the tag's attributes; nil if it has none.
  var referenceKind: ManifestReference.Kind? {
    switch self {
    case .rendition, .iFrameVariant: .playlist
    case .key, .sessionKey: .key
    case .map: .initialization
    case .sessionData: .data
    case .part: .part
    case .preloadHint: .preloadHint
    case .renditionReport: .renditionReport
    case .contentSteering: .steering
    case .dateRange: .interstitial
    default: nil
    }
  }

  /// The names of the attributes that are references.
  var referenceAttributes: [String] {
    switch self {
    case .contentSteering: ["SERVER-URI"]
    case .dateRange: ["X-ASSET-URI", "X-ASSET-LIST"]
    default: referenceKind == nil ? [] : ["URI"]
    }
  }
}
