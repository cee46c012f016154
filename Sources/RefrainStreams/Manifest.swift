// SPDX-License-Identifier: MIT
package import Foundation
import Refrain

/// Manifests of streams: HLS playlists (RFC 8216) and DASH's MPDs (ISO/IEC 23009-1).
package enum Manifest {
  /// The longest possible manifest. Longer resources are not parsed.
  package static let longest: Int64 = 4 << 20

  private static let types: Set<String> = [
    "application/vnd.apple.mpegurl", "application/x-mpegurl", "audio/mpegurl", "audio/x-mpegurl",
    // Not registered, and in use.
    "application/mpegurl", "video/mpegurl", "video/x-mpegurl",
    "application/dash+xml",
  ]

  /// Whether a resource is named a manifest, by its type or by the extension of its URL.
  package static func isNamed(mimeType: String?, url: URL) -> Bool {
    if let mimeType, types.contains(mimeType) { return true }
    return ["m3u8", "mpd"].contains(url.pathExtension.lowercased())
  }

  /// Whether a URL asks for a playlist that the origin has yet to write: the response comes once the
  /// named segment exists (draft-pantos-hls-rfc8216bis §6.2.5.2).
  static func isBlockingReload(_ url: URL) -> Bool {
    url.query()?.split(separator: "&").contains { $0.hasPrefix("_HLS_msn=") } == true
  }

  /// Returns the pace of changes that a whole body states; nil if it is no manifest.
  ///
  /// - Parameter isBlockingReload: whether the request named the segment or part that the playlist
  ///   ends with. The next part has another URL, so that parts do not make the playlist change.
  static func pace(of body: Data, isBlockingReload: Bool = false) -> UpdatePace? {
    let bytes = [UInt8](body)
    return HLSLines(playlist: bytes).map { pace(of: $0, hasParts: !isBlockingReload) }
      ?? descriptionPace(bytes)
  }

  /// Playlists and XML. MPDs, and the parts of MPDs that are documents of their own, may begin
  /// without a declaration, with the prefix of a namespace (`<mpd:MPD`) or with a comment.
  private static let beginnings = ["#EXTM3U", "<?xml", "<!--"]
  private static let roots = ["MPD", "Period", "AdaptationSet"]

  /// Whether a body may be that of a manifest, by its first bytes.
  package static func mayBegin(with bytes: Data) -> Bool {
    let bytes = [UInt8](bytes)
    let text = String(decoding: utf8(ofWide: bytes) ?? bytes, as: UTF8.self)
    let start = (text.hasPrefix("\u{FEFF}") ? text.dropFirst() : text[...]).drop(
      while: \.isWhitespace)
    if beginnings.contains(where: { start.hasPrefix($0) }) { return true }
    guard start.hasPrefix("<") else { return false }
    let name = start.dropFirst().prefix { !$0.isWhitespace && $0 != ">" && $0 != "/" }
    let local = name.firstIndex(of: ":").map { name[name.index(after: $0)...] } ?? name
    return roots.contains { local.hasPrefix($0) }
  }

  /// Whether reading a manifest may take long, a second if it is a hostile one, and belongs on a
  /// thread of its own: it is long, or it has variables, whose values may be.
  package static func mayTakeLong(_ body: [UInt8]) -> Bool {
    guard body.count <= longestShort else { return true }
    return body.withUnsafeBufferPointer { body in
      body.indices.dropLast().contains {
        body[$0] == UInt8(ascii: "{") && body[$0 + 1] == UInt8(ascii: "$")
      }
    }
  }

  private static let longestShort = 64 << 10

  // MARK: HLS

  private static func pace(of lines: HLSLines, hasParts: Bool) -> UpdatePace {
    var target: Double?
    for case .tag(let tag, let value) in lines.lazy.map(\.content) {
      let stated: Double?
      switch tag {
      case .end: return .complete
      case .playlistType where value.elementsEqual("VOD".utf8): return .complete
      case .targetDuration: stated = value.seconds
      // In a low-latency stream every part makes a new playlist.
      case .partInformation where hasParts: stated = HLSAttributes(value)["PART-TARGET"]?.seconds
      default: continue
      }
      target = [target, stated].compactMap(\.self).min()
    }
    // A list of streams or of songs has no target duration.
    return target.map { .every($0) } ?? .unstated
  }

  // MARK: DASH

  /// Returns the pace by the attributes of the root; nil if that is no MPD.
  private static func descriptionPace(_ body: [UInt8]) -> UpdatePace? {
    guard let root = description(body) else { return nil }
    guard value(of: "type", in: root) == "dynamic" else { return .complete }
    let period = value(of: "minimumUpdatePeriod", in: root).flatMap(DASHNumbers.seconds)
    // Without an update period, players wait for new segments.
    let segment = value(of: "maxSegmentDuration", in: root).flatMap(DASHNumbers.seconds)
    return .every(period ?? segment ?? defaultSegment)
  }

  /// Returns a scanner that has just read the start tag of an MPD; nil if the body is none.
  static func description(_ body: [UInt8]) -> MarkupScanner? {
    var scanner = MarkupScanner(body)
    while let token = scanner.next() {
      switch token {
      case .text(let range) where MarkupText.trimmed(range, in: body).isEmpty: continue
      case .start(let name, _) where DASHElement(root: body[name]) == .mpd: return scanner
      default: return nil
      }
    }
    return nil
  }

  /// Returns the value of an attribute of the start tag that was just read.
  static func value(of name: String, in root: MarkupScanner) -> String? {
    let attribute = root.attributes.first { root.body[$0.name].elementsEqual(name.utf8) }
    return attribute.flatMap {
      MarkupText.decoded(root.body[MarkupText.trimmed($0.value, in: root.body)])
    }
  }

  private static let defaultSegment: Double = 2
}
