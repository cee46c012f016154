// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// The proxy's form of a URL: the path is `/TOKEN/https/host[:port]/path`, in which relative
/// references of playlists resolve correctly. A stream's session may stand behind the token, as in
/// `/TOKEN/~ID/https/host/path`: relative references inherit it.
///
/// Path and query are the same byte for byte on both sides: otherwise a signed URL would lose its
/// signature.
enum ProxyURL {
  struct Named: Sendable, Hashable {
    var url: URL
    /// Without the `~`.
    var session: String?
  }

  /// Throws 404 if the token is wrong, 400 if no URL follows it.
  static func parse(target: some StringProtocol, token: String) throws(HTTPError) -> Named {
    // The same for every wrong token, and for none: the response reveals nothing.
    guard TokenCheck.begins(target, with: token) else {
      throw HTTPError(404, "No resource exists at this URL.")
    }
    guard URLSpelling.isTarget(target) else { throw malformed }
    let end = target.utf8.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
    // "", token, perhaps a session, scheme, host, path.
    var parts = target[..<end].split(
      separator: "/", maxSplits: 5, omittingEmptySubsequences: false
    ).dropFirst(2)
    var session: String?
    if let id = parts.first, id.hasPrefix("~"), StreamSession.isIdentifier(id.dropFirst()) {
      session = String(id.dropFirst())
      parts.removeFirst()
    }
    guard let scheme = parts.popFirst(), scheme == "http" || scheme == "https",
      let host = parts.first, let authority = Authority(decodingBrackets(host))
    else { throw malformed }
    let url = try url("\(scheme)://\(authority.text)", target[host.endIndex...])
    return Named(url: url, session: session)
  }

  /// Drops user information and fragment; returns nil for URLs that `parse` would refuse.
  static func target(for url: URL, token: String, session: String? = nil) -> String? {
    guard let parts = WebURL(url.absoluteString), let authority = Authority(parts.authority)
    else { return nil }
    let host = authority.text.replacing("[", with: "%5B").replacing("]", with: "%5D")
    let prefix = "/\(token)" + (session.map { "/~\($0)" } ?? "")
    let target = "\(prefix)/\(parts.scheme)/\(host)\(parts.requestTarget)"
    return (try? parse(target: target, token: token)) == nil ? nil : target
  }

  /// Splits a target in absolute form, as sent to a proxy (RFC 9112 §3.2.2). Nil for other forms.
  static func splitAbsolute(
    _ target: some StringProtocol
  ) -> (authority: String, target: String)? {
    guard target.utf8.first != UInt8(ascii: "/"), let parts = WebURL(String(target)),
      parts.scheme == "http"
    else { return nil }
    return (parts.authority, parts.requestTarget)
  }

  /// - Parameter rest: the rest of the path, and the query, of visible ASCII.
  fileprivate static func url(
    _ base: String, _ rest: some StringProtocol, decodesSeparators: Bool = false
  ) throws(HTTPError) -> URL {
    let path = rest.prefix { $0 != "?" }
    guard !URLSpelling.hasDotSegment(path: path, decodesSeparators: decodesSeparators) else {
      throw HTTPError(400, "The path contains dot segments. Resolve them first.")
    }
    // Another host would receive another's secrets.
    guard let url = URL(text: "\(base)\(path.isEmpty ? "/" : "")\(rest)"),
      url.absoluteString.hasPrefix("\(base)/")
    else { throw malformed }
    return url
  }

  /// Decodes brackets and colons, which some clients encode in a path.
  private static func decodingBrackets(_ host: some StringProtocol) -> String {
    guard host.utf8.contains(UInt8(ascii: "%")) else { return String(host) }
    return host.lowercased().replacing("%5b", with: "[").replacing("%5d", with: "]")
      .replacing("%3a", with: ":")
  }

  fileprivate static var malformed: HTTPError {
    HTTPError(400, "The path does not contain a URL. Use /token/https/example.com/path.")
  }
}

/// The origin of a reverse proxy: the URLs of its scheme, host and port, below its path, are requested
/// path for path.
struct ServedOrigin: Sendable {
  /// `https://media.example.com[/prefix]`, without a trailing slash.
  let text: String
  private let origin: WebOrigin
  private let path: String

  /// Ignores the query. Returns nil if it is not an http or https URL.
  init?(_ url: URL) {
    var text = url.absoluteString.prefix { $0 != "?" && $0 != "#" }
    while text.hasSuffix("/") { text.removeLast() }
    guard let parts = WebURL(String(text)), let origin = WebOrigin(url) else { return nil }
    let path = parts.requestTarget
    (self.text, self.origin, self.path) = (String(text), origin, path == "/" ? "" : path)
  }

  func url(of target: some StringProtocol) throws(HTTPError) -> URL {
    guard target.utf8.first == UInt8(ascii: "/"), URLSpelling.isTarget(target) else {
      throw ProxyURL.malformed
    }
    // The origin ends with its prefix, even if its server decodes a path first.
    return try ProxyURL.url(text, target, decodesSeparators: true)
  }

  /// Returns nil if the URL is not of this origin. A client sends the user and the password in a
  /// URL itself: such a URL stays as it is.
  func target(of url: URL) -> String? {
    url.withoutUserInfo == url ? anyTarget(of: url) : nil
  }

  private func anyTarget(of url: URL) -> String? {
    guard let parts = WebURL(url.absoluteString), WebOrigin(url) == origin,
      parts.requestTarget.hasPrefix(path)
    else { return nil }
    let rest = parts.requestTarget.dropFirst(path.count)
    if rest.isEmpty { return "/" }
    return rest.hasPrefix("/") || rest.hasPrefix("?") ? String(rest) : nil
  }

  /// A URL whose path could be resolved to another is not the origin's.
  func contains(_ url: URL) -> Bool {
    anyTarget(of: url).map { !URLSpelling.hasDotSegment(path: $0.prefix { $0 != "?" }) } ?? false
  }
}

/// The unguessable part of a proxy's URLs.
enum TokenCheck {
  /// Whether a target begins with a slash and the token, in constant time.
  static func begins(_ target: some StringProtocol, with token: String) -> Bool {
    guard target.utf8.first == UInt8(ascii: "/") else { return false }
    let text = target.utf8.dropFirst().prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
    guard !token.isEmpty, text.count == token.utf8.count else { return false }
    return zip(text, token.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }

  /// Requires at least 16 characters that a URL never encodes (RFC 3986 §2.3), and not only dots.
  static func isValid(_ token: String) -> Bool {
    token.utf8.count >= 16 && token.utf8.allSatisfy(\.isUnreserved) && token.contains { $0 != "." }
  }

  /// Returns a new token of 192 random bits.
  static func random() -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    return String((0..<32).map { _ in alphabet[Int.random(in: 0..<64)] })
  }
}

package enum URLSpelling {
  /// Whether the path has a segment `.` or `..`, also as `%2e`, which clients resolve before they
  /// send a path (RFC 3986 §5.2.4). `decodesSeparators` is for servers that decode it first: `%2f`,
  /// `%5c` and `\` then end a segment too.
  static func hasDotSegment(path: some StringProtocol, decodesSeparators: Bool = false) -> Bool {
    var path = String(path)
    if decodesSeparators {
      path = path.lowercased().replacing("%2f", with: "/").replacing("%5c", with: "/")
        .replacing("\\", with: "/")
    }
    return path.utf8.split(separator: UInt8(ascii: "/")).contains { dots(Substring($0)) != nil }
  }

  /// Returns `.` or `..` for a segment that is one, also percent-encoded (RFC 3986 §6.2.2.2).
  static func dots(_ segment: Substring) -> String? {
    guard segment.utf8.first == UInt8(ascii: ".") || segment.utf8.first == UInt8(ascii: "%") else {
      return nil
    }
    let decoded = segment.lowercased().replacing("%2e", with: ".")
    return decoded == "." || decoded == ".." ? decoded : nil
  }

  /// Whether all bytes are visible ASCII, without `#`.
  package static func isTarget(_ text: some StringProtocol) -> Bool {
    text.utf8.allSatisfy { $0 >= 0x21 && $0 <= 0x7E && $0 != UInt8(ascii: "#") }
  }
}
