// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer

/// The kind of a list of media, known by its first bytes, or else by its name.
enum ListKind: Sendable, Hashable {
  case playlist
  /// A podcast feed: RSS or Atom.
  case feed

  /// The number of bytes examined.
  static let length = PlaylistText.beginning

  /// The number of bytes of the longest list that can be read, of any kind.
  static let longest = max(Playlist.byteLimit, Feed.byteLimit)

  /// Returns the kind by the first bytes; nil for any other content, also for a plain list of
  /// locations, which has no mark.
  init?(beginning bytes: Data) {
    guard let text = PlaylistText.beginning(of: bytes) else { return nil }
    if Playlist.Format(beginning: text) != nil {
      self = .playlist
    } else if Self.isFeed(text) {
      self = .feed
    } else {
      return nil
    }
  }

  /// Returns the kind by the MIME type if that is a list's, otherwise by the extension; nil if
  /// neither is a list's. An HTTP Live Stream also is a playlist.
  init?(named url: URL, mimeType: String? = nil) {
    if Playlist.format(of: url, mimeType: mimeType) != nil {
      self = .playlist
      return
    }
    let type = mimeType?.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
    guard
      ["application/rss+xml", "application/atom+xml"].contains(type)
        || ["rss", "atom"].contains(url.pathExtension.lowercased())
    else { return nil }
    self = .feed
  }

  /// Whether the first element of a text is a feed's. Of a document that declares entities, its
  /// document type decides.
  private static func isFeed(_ text: String) -> Bool {
    func isRoot(_ name: some StringProtocol) -> Bool {
      ["rss", "feed"].contains(name.split(separator: ":").last?.lowercased())
    }
    var scanner = MarkupScanner(Array(text.utf8))
    while let token = scanner.next() {
      switch token {
      case .start(let name, _):
        return isRoot(String(decoding: scanner.body[name].prefix(64), as: UTF8.self))
      case .unsupported:
        guard let type = text.firstRange(of: "<!DOCTYPE")?.upperBound else { return false }
        return isRoot(text[type...].drop(while: \.isWhitespace).prefix { $0.isLetter })
      case .text(let range):
        guard scanner.body[range].allSatisfy(\.isMarkupSpace) else { return false }
      case .end, .section: return false
      }
    }
    return false
  }
}
