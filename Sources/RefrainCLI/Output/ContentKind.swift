// SPDX-License-Identifier: MIT
import Foundation

/// The kind of a resource that is not media, detected from its first bytes. A pure value.
enum ContentKind: Sendable, Hashable {
  case webPage, playlist, liveStream, dashManifest, json

  /// The number of bytes examined.
  static let length = 4096

  /// Returns nil for any other content.
  init?(beginning bytes: some Sequence<UInt8>) {
    let text = String(decoding: Array(bytes.prefix(Self.length)), as: UTF8.self)
    let start = text.drop { $0.isWhitespace || $0 == "\u{FEFF}" }.lowercased()
    if start.hasPrefix("#extm3u"), start.contains("#ext-x-") {
      self = .liveStream
    } else if start.hasPrefix("<") {
      // The first element decides; a declaration, comments and a document type precede it.
      let names: [(String, ContentKind)] = [
        ("html", .webPage), ("playlist", .playlist), ("mpd", .dashManifest),
      ]
      guard let name = Self.firstElement(of: start) else { return nil }
      guard let found = names.first(where: { $0.0 == name }) else { return nil }
      self = found.1
    } else if start.hasPrefix("{") || start.hasPrefix("[{") {
      self = .json
    } else {
      return nil
    }
  }

  /// Returns the name of the first element, or `html` if a document type says so.
  private static func firstElement(of text: String) -> String? {
    var rest = text[...]
    while let open = rest.firstIndex(of: "<") {
      rest = rest[rest.index(after: open)...]
      if rest.hasPrefix("!doctype html") { return "html" }
      if rest.hasPrefix("!--") {
        guard let end = rest.firstRange(of: "-->") else { return nil }
        rest = rest[end.upperBound...]
      } else if !rest.hasPrefix("?"), !rest.hasPrefix("!") {
        return String(rest.prefix { !$0.isWhitespace && $0 != ">" && $0 != "/" })
      }
    }
    return nil
  }

  /// The name, as in "… is a web page".
  var name: String {
    switch self {
    case .webPage: "a web page"
    case .playlist: "a playlist"
    case .liveStream: "an HTTP Live Stream (HLS)"
    case .dashManifest: "a DASH manifest"
    case .json: "a JSON document"
    }
  }

  /// The remedy for the user.
  var remedy: String {
    switch self {
    case .webPage: "Use the URL of the media, not of a page that shows it."
    case .playlist: "Use a playlist in the format M3U or PLS."
    case .liveStream, .dashManifest:
      "Use the URL of the whole media, an MP4 or MP3, if the site has one."
    case .json: "Use the URL of the media."
    }
  }
}
