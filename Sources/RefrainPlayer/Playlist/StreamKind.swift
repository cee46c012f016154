// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// The kind of a stream: one item in many segments, which its manifest lists.
package enum StreamKind: Sendable, Hashable {
  /// HTTP Live Streaming (RFC 8216), live or not.
  case hls
  /// MPEG-DASH (ISO/IEC 23009-1).
  case dash

  /// The number of bytes examined.
  package static let length = 16 << 10

  /// Returns nil for any other content, also for a list of songs in M3U.
  package init?(beginning bytes: some Sequence<UInt8>) {
    let text = String(decoding: Array(bytes.prefix(Self.length)), as: UTF8.self)
    let start = text.drop { $0.isWhitespace || $0 == "\u{FEFF}" }
    if start.prefix(7).uppercased() == "#EXTM3U" {
      guard PlaylistText.lines(of: String(start)).contains(where: { Self.isHLSTag($0.text) })
      else { return nil }
      self = .hls
    } else if Self.rootElement(of: start) == "MPD" {
      self = .dash
    } else {
      return nil
    }
  }

  /// Nil for a stored resource with any other content, and for one that is not stored completely, or
  /// longer than a manifest. Makes no request.
  init?(stored resource: Resource, in cache: MediaCache) async {
    let body = await cache.storedBody(for: cache.key(for: resource), longest: 4 << 20)?.body
    guard let body else { return nil }
    self.init(beginning: body)
  }

  /// The name, as in "… is an HTTP Live Stream".
  package var name: String {
    switch self {
    case .hls: "an HTTP Live Stream (HLS)"
    case .dash: "a DASH stream"
    }
  }

  // MARK: HLS

  /// Returns whether a line is a tag that only playlists of HLS have (RFC 8216 §4.3).
  static func isHLSTag(_ line: Substring) -> Bool {
    hlsTags.contains(line.prefix(64).prefix { $0 != ":" }.uppercased())
  }

  private static let hlsTags: Set<String> = [
    "#EXT-X-TARGETDURATION", "#EXT-X-STREAM-INF", "#EXT-X-I-FRAME-STREAM-INF",
    "#EXT-X-MEDIA-SEQUENCE", "#EXT-X-MEDIA", "#EXT-X-PLAYLIST-TYPE", "#EXT-X-ENDLIST",
    "#EXT-X-KEY", "#EXT-X-MAP", "#EXT-X-BYTERANGE", "#EXT-X-DISCONTINUITY",
    "#EXT-X-PROGRAM-DATE-TIME", "#EXT-X-PART", "#EXT-X-PART-INF", "#EXT-X-SERVER-CONTROL",
    "#EXT-X-INDEPENDENT-SEGMENTS",
  ]

  // MARK: DASH

  /// Returns the local name of an XML document's first element; nil if there is none.
  private static func rootElement(of text: Substring) -> Substring? {
    var rest = text
    while rest.first == "<" {
      if rest.hasPrefix("<!--") {
        guard let end = rest.firstRange(of: "-->") else { return nil }
        rest = rest[end.upperBound...]
      } else if rest.hasPrefix("<?") || rest.hasPrefix("<!") {
        guard let end = rest.firstIndex(of: ">") else { return nil }
        rest = rest[rest.index(after: end)...]
      } else {
        let name = rest.dropFirst().prefix { !$0.isWhitespace && $0 != ">" && $0 != "/" }
        return name.split(separator: ":").last
      }
      rest = rest.drop(while: \.isWhitespace)
    }
    return nil
  }
}

extension Media {
  /// Whether the URL has the extension of a manifest: only such media is looked up before it plays.
  var isNamedStream: Bool {
    resource != nil && ["m3u8", "mpd"].contains(url.pathExtension.lowercased())
  }
}
