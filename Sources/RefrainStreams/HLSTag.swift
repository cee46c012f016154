// SPDX-License-Identifier: MIT

/// The tags of an HLS playlist that matter here (RFC 8216 §4.3; draft-pantos-hls-rfc8216bis §4.4).
enum HLSTag: String, CaseIterable {
  case bitRate = "EXT-X-BITRATE"
  case byteRange = "EXT-X-BYTERANGE"
  case contentSteering = "EXT-X-CONTENT-STEERING"
  case dateRange = "EXT-X-DATERANGE"
  case define = "EXT-X-DEFINE"
  case discontinuity = "EXT-X-DISCONTINUITY"
  case discontinuitySequence = "EXT-X-DISCONTINUITY-SEQUENCE"
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

  private static let byName = Dictionary(
    uniqueKeysWithValues: allCases.map { (ArraySlice($0.rawValue.utf8), $0) })

  /// Nil if no tag that matters has this name.
  init?(name: ArraySlice<UInt8>) {
    guard let tag = Self.byName[name] else { return nil }
    self = tag
  }

  /// What the references in the tag's attributes are, and the names of these attributes; nil if
  /// the tag has none.
  var references: (kind: ManifestReference.Kind, names: [String])? {
    switch self {
    case .rendition, .iFrameVariant: (.playlist, ["URI"])
    case .key, .sessionKey: (.key, ["URI"])
    case .map: (.initialization, ["URI"])
    case .sessionData: (.data, ["URI"])
    case .part: (.part, ["URI"])
    case .preloadHint: (.preloadHint, ["URI"])
    case .renditionReport: (.renditionReport, ["URI"])
    case .contentSteering: (.steering, ["SERVER-URI"])
    case .dateRange: (.interstitial, ["X-ASSET-URI", "X-ASSET-LIST"])
    default: nil
    }
  }

  /// Whether the tag shows that a playlist is a media playlist: neither multivariant playlists nor
  /// lists of songs have it.
  var isOfMediaPlaylist: Bool {
    switch self {
    case .bitRate, .byteRange, .discontinuity, .discontinuitySequence, .end, .gap, .key, .map,
      .mediaSequence, .part, .partInformation, .playlistType, .skip, .targetDuration:
      true
    default: false
    }
  }
}
