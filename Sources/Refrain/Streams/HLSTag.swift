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

  /// Creates the tag whose name stands at `range` of the body; nil if none has that name.
  init?(_ body: [UInt8], in range: Range<Int>) {
    guard range.count < Self.byLength.count else { return nil }
    let known = Self.byLength[range.count].first { body.hasBytes($0.name, at: range.lowerBound) }
    guard let known else { return nil }
    self = known.tag
  }

  private static let byLength: [[(name: [UInt8], tag: HLSTag)]] = {
    let names = allCases.map { (name: Array($0.rawValue.utf8), tag: $0) }
    let longest = names.map(\.name.count).max() ?? 0
    return (0...longest).map { length in names.filter { $0.name.count == length } }
  }()

  /// Whether the tag's attribute whose name stands at `range` of the body is a reference.
  func isReference(_ body: [UInt8], in range: Range<Int>) -> Bool {
    func isNamed(_ name: StaticString) -> Bool {
      range.count == name.utf8CodeUnitCount && body.hasBytes(name, at: range.lowerBound)
    }
    switch self {
    case .contentSteering: return isNamed("SERVER-URI")
    case .dateRange: return isNamed("X-ASSET-URI") || isNamed("X-ASSET-LIST")
    default: return referenceKind != nil && isNamed("URI")
    }
  }
}
