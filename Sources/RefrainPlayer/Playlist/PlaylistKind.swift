// SPDX-License-Identifier: MIT
package import Foundation
import Refrain

/// The format of a list of media, known by its first bytes, or else by its name.
package enum PlaylistKind: Sendable, Hashable {
  case m3u, pls
  /// A podcast feed: RSS or Atom.
  case feed

  /// The number of bytes examined.
  package static let length = 16 << 10

  /// The number of bytes of the longest list that can be read, of any kind.
  package static let longest = max(Playlist.byteLimit, Playlist.feedByteLimit)

  /// Returns the kind by the first bytes; nil for any other content, also for a plain list of
  /// locations, which has no mark.
  package init?(beginning bytes: Data) {
    let hasMark = bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF])
    // Most media have a zero soon; in a text, only UTF-16 has.
    guard hasMark || !bytes.prefix(512).contains(0) else { return nil }
    // An even number of bytes, because of UTF-16.
    let start = Data(bytes.prefix(Self.length & ~1))
    guard let text = try? PlaylistText.decoded(start, isUTF8: false) else { return nil }
    self.init(text)
  }

  /// Returns the kind by the MIME type if that is a list's, otherwise by the extension; nil if
  /// neither is a list's. An HTTP Live Stream also has the kind `.m3u`.
  package init?(named url: URL, mimeType: String? = nil) {
    if let format = Playlist.format(of: url, mimeType: mimeType) {
      switch format {
      case .m3u: self = .m3u
      case .pls: self = .pls
      }
      return
    }
    switch mimeType?.prefix(while: { $0 != ";" }).trimmingCharacters(in: .whitespaces).lowercased()
    {
    case "application/rss+xml", "application/atom+xml":
      self = .feed
      return
    default: break
    }
    switch url.pathExtension.lowercased() {
    case "rss", "atom": self = .feed
    default: return nil
    }
  }

  /// - Parameter text: the list, or its beginning.
  init?(_ text: String) {
    let start = text[...].drop { $0.isWhitespace || $0 == "\u{FEFF}" }
    let mark = start.prefix(16).lowercased()
    if mark.hasPrefix("#extm3u") {
      self = .m3u
    } else if mark.hasPrefix("[playlist]") {
      self = .pls
    } else if mark.hasPrefix("<"), ["rss", "rdf", "feed"].contains(Self.rootElement(of: start)) {
      self = .feed
    } else {
      return nil
    }
  }

  /// Whether the text begins as markup does.
  static func isMarkup(_ text: String) -> Bool {
    text.first { !$0.isWhitespace && $0 != "\u{FEFF}" } == "<"
  }

  /// Returns the local name of the first element in lower case; nil if there is none. Of a document
  /// that declares entities, this is the name that its document type states.
  private static func rootElement(of text: Substring) -> String? {
    let bytes = Array(text.utf8.prefix(length))
    var scanner = MarkupScanner(bytes)
    while let token = scanner.next() {
      switch token {
      case .start(let name, _):
        let local = bytes[name].split(separator: UInt8(ascii: ":")).last ?? []
        return String(decoding: local.prefix(32), as: UTF8.self).lowercased()
      case .unsupported:
        guard let type = text.firstRange(of: "<!DOCTYPE")?.upperBound else { return nil }
        return text[type...].drop(while: \.isWhitespace)
          .prefix { $0.isLetter }.prefix(32).lowercased()
      case .end, .section: return nil
      case .text: continue
      }
    }
    return nil
  }
}
