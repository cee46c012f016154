// SPDX-License-Identifier: MIT
package import Foundation
import Refrain

/// Resolves the locations in a playlist or a feed to URLs.
package struct PlaylistLocation {
  /// The syntax of a location.
  package enum Spelling {
    /// A URI: a `?` begins a query.
    case uri
    /// A URL or a file path, as people and programs write lists: names in a path may have any
    /// character.
    case pathOrURI
  }

  /// The reason why an entry cannot be played, in one sentence.
  package struct Refusal: Error {
    package var reason: String

    init(_ reason: String) { self.reason = reason }

    init(_ text: some StringProtocol, _ why: String) {
      let shown = PlaylistText.shown(text.prefix(200)) ?? ""
      reason = "“\(shown)” \(why)"
    }
  }

  private let playlist: URL
  private let isLocal: Bool

  /// - Parameter playlist: the URL of the playlist.
  package init(of playlist: URL) {
    self.playlist = playlist
    isLocal = playlist.isFileURL
  }

  /// - Parameter base: the URL to which `text` is relative; nil: the playlist's.
  package func resolve(
    _ text: some StringProtocol, base: URL? = nil, as spelling: Spelling
  ) throws(Refusal) -> URL {
    var spelled = String(text)
    if !hasScheme(spelled) {
      if isWindowsDrive(spelled) {
        throw Refusal(text, "is a Windows path.")
      }
      if spelling == .pathOrURI { spelled = reference(to: spelled) }
      // "Name: Song.mp3" is a name, not a scheme.
      let firstSegment = spelled.prefix { $0 != "/" }
      if firstSegment.contains(":") { spelled = "./" + spelled }
    }
    guard let url = URL(text: spelled, relativeTo: base ?? playlist) else {
      throw Refusal(text, "is not a URL.")
    }
    switch url.scheme?.lowercased() {
    case "http", "https":
      guard url.host?.isEmpty == false else { throw Refusal(text, "has no host.") }
    case "file":
      guard isLocal else {
        throw Refusal(
          text, "is a file on this machine, which a playlist from the network cannot name.")
      }
      guard url.host.map({ $0.isEmpty || $0 == "localhost" }) ?? true, url.path.hasPrefix("/")
      else {
        throw Refusal(text, "is a file on another machine.")
      }
      guard !url.path.utf8.contains(0) else { throw Refusal(text, "is not a path.") }
    default: throw Refusal(text, "is neither http, https nor a file.")
    }
    return url
  }

  /// Returns a path as a relative reference. In a local playlist, a `?` or `#` is a part of a name.
  private func reference(to path: String) -> String {
    var path = path
    // A Windows path: names there have no backslash, and a path with backslashes has no slash.
    if path.contains("\\"), !path.contains("/") { path = path.replacing("\\", with: "/") }
    guard isLocal else { return path }
    path = path.replacing("?", with: "%3F").replacing("#", with: "%23")
    let slashes = path.prefix { $0 == "/" }.count
    return slashes > 1 ? String(path.dropFirst(slashes - 1)) : path
  }

  /// Returns whether the text is a Windows path: "C:\Music", "c:/Music", "\\server\share".
  private func isWindowsDrive(_ text: String) -> Bool {
    let bytes = Array(text.utf8.prefix(3))
    if bytes.starts(with: [0x5C, 0x5C]) { return true }
    guard bytes.count > 1, bytes[1] == UInt8(ascii: ":") else { return false }
    return (0x61...0x7A).contains(bytes[0] | 0x20)
  }

  /// Returns whether the text has a scheme (RFC 3986 §3.1) of at least two letters, without a space
  /// after the colon.
  private func hasScheme(_ text: String) -> Bool {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
    let name = text.utf8[..<colon]
    guard name.count > 1, let first = name.first, (0x61...0x7A).contains(first | 0x20) else {
      return false
    }
    let isName = name.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2D, 0x2E: true
      default: false
      }
    }
    return isName && text.utf8[colon...].dropFirst().first != 0x20
  }
}
