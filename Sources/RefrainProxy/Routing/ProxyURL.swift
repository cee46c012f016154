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
  /// The URL and the session that a request names.
  struct Named: Sendable, Hashable {
    var url: URL
    /// The identifier of a stream's session, without the `~`.
    var session: String?
  }

  /// Returns the URL that a request names.
  ///
  /// - Parameter target: in origin form.
  /// - Throws: 404 if the token is wrong, 400 if no URL follows it.
  static func parse(target: some StringProtocol, token: String) throws(HTTPError) -> Named {
    // The same for every wrong token, and for none: the response reveals nothing.
    let isTokenOurs = TokenCheck.isEqual(
      target.dropFirst().prefix { $0 != "/" && $0 != "?" }, to: token)
    guard target.utf8.first == UInt8(ascii: "/"), isTokenOurs else {
      throw HTTPError(404, "No resource exists at this URL.")
    }
    guard URLSpelling.isTarget(target) else { throw malformed }
    let behindToken = target.utf8.dropFirst(1 + token.utf8.count)
    let end = behindToken.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
    let (session, named) = session(in: target[behindToken.startIndex..<end])
    // "", scheme, host, path.
    let parts = named.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count >= 3, parts[1] == "http" || parts[1] == "https",
      let authority = Authority(decodingBrackets(parts[2]))
    else { throw malformed }
    let path = target[parts[2].endIndex..<end]
    let url = try url(
      String(parts[1]) + "://" + authority.text,
      path: path.isEmpty ? "/" : String(path), query: String(target[end...]))
    return Named(url: url, session: session)
  }

  /// Splits `/~ID/scheme/host…` into the identifier and the rest.
  private static func session<Text: StringProtocol>(
    in path: Text
  ) -> (String?, Text.SubSequence) {
    guard path.hasPrefix("/~"), let slash = path.dropFirst(2).firstIndex(of: "/") else {
      return (nil, path[...])
    }
    let id = path.dropFirst(2)[..<slash]
    guard StreamSession.isIdentifier(id) else { return (nil, path[...]) }
    return (String(id), path[slash...])
  }

  /// Returns the target of a request to the proxy for that URL, without user information and
  /// fragment.
  ///
  /// - Returns: nil for URLs that `parse` would refuse.
  static func target(for url: URL, token: String, session: String? = nil) -> String? {
    guard let parts = WebURL(url.absoluteString), let authority = Authority(parts.authority)
    else { return nil }
    let host = authority.text.replacing("[", with: "%5B").replacing("]", with: "%5D")
    let prefix = "/\(token)" + (session.map { "/~\($0)" } ?? "")
    let target = "\(prefix)/\(parts.scheme)/\(host)\(parts.requestTarget)"
    return (try? parse(target: target, token: token)) == nil ? nil : target
  }

  /// Returns the URL that a reverse proxy requests from its origin.
  ///
  /// - Parameters:
  ///   - origin: `https://media.example.com[/prefix]`; its query is ignored.
  ///   - target: in origin form.
  static func parse(target: some StringProtocol, origin: URL) throws(HTTPError) -> URL {
    guard target.utf8.first == UInt8(ascii: "/"), URLSpelling.isTarget(target) else {
      throw malformed
    }
    var base = origin.absoluteString.prefix { $0 != "?" && $0 != "#" }
    while base.hasSuffix("/") { base.removeLast() }
    let end = target.utf8.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
    let path = String(target[..<end])
    // The origin ends with its prefix, even if its server decodes a path first.
    guard !URLSpelling.hasDotSegment(path: path, decodesSeparators: true) else { throw dotSegments }
    return try url(String(base), path: path, query: String(target[end...]))
  }

  /// Returns authority and origin-form target of a target in absolute form (RFC 9112 §3.2.2), which
  /// a client sends if it uses this server as its proxy. Nil for the other forms.
  ///
  /// `HostCheck` decides whether the authority is the proxy's.
  static func splitAbsolute(
    _ target: some StringProtocol
  ) -> (authority: String, target: String)? {
    guard target.utf8.first != UInt8(ascii: "/"), let parts = WebURL(String(target)),
      parts.scheme == "http"
    else { return nil }
    return (parts.authority, parts.requestTarget)
  }

  private static func url(
    _ base: String, path: String, query: String
  ) throws(HTTPError) -> URL {
    guard !URLSpelling.hasDotSegment(path: path) else { throw dotSegments }
    let asked = base + path + query
    // Checks the result, whatever the input: another host would receive another's secrets.
    guard let url = URL(text: asked), URLSpelling.says(url.absoluteString, as: asked),
      url.absoluteString.hasPrefix(base)
    else { throw malformed }
    return url
  }

  /// Decodes brackets and colons, which some clients encode in a path.
  private static func decodingBrackets(_ host: some StringProtocol) -> String {
    guard host.utf8.contains(UInt8(ascii: "%")) else { return String(host) }
    return host.lowercased().replacing("%5b", with: "[").replacing("%5d", with: "]")
      .replacing("%3a", with: ":")
  }

  private static var dotSegments: HTTPError {
    HTTPError(400, "The path contains dot segments. Resolve them first.")
  }

  private static var malformed: HTTPError {
    HTTPError(400, "The path does not contain a URL. Use /token/https/example.com/path.")
  }
}

/// The unguessable part of a proxy's URLs.
enum TokenCheck {
  /// Whether the text is the token, in a time that does not reveal how much of it is right.
  static func isEqual(_ text: some StringProtocol, to token: String) -> Bool {
    let expected = Array(token.utf8)
    guard !expected.isEmpty else { return false }
    var difference: UInt8 = text.utf8.count == expected.count ? 0 : 1
    for (index, byte) in text.utf8.enumerated() {
      difference |= byte ^ expected[index % expected.count]
    }
    return difference == 0
  }

  /// Whether it can be a token: at least 16 characters that a URL never encodes (RFC 3986 §2.3),
  /// and not only dots.
  static func isValid(_ token: String) -> Bool {
    guard token.utf8.count >= 16, token.utf8.contains(where: { $0 != UInt8(ascii: ".") }) else {
      return false
    }
    return token.utf8.allSatisfy(\.isUnreserved)
  }

  /// Returns a new token of 192 random bits.
  static func random() -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    return String((0..<32).map { _ in alphabet[Int.random(in: 0..<64)] })
  }
}

/// The spelling of request targets and URLs.
package enum URLSpelling {
  /// Whether the path has a segment `.` or `..`, also as `%2e`: clients that resolve
  /// references never send one (RFC 3986 §5.2.4), and a client that sends one aims elsewhere.
  ///
  /// - Parameter decodesSeparators: whether `%2f`, `%5c` and `\` end a segment too, as for servers
  ///   that decode a path before they resolve it.
  static func hasDotSegment(path: some StringProtocol, decodesSeparators: Bool = false) -> Bool {
    let path = decodesSeparators ? decodingSeparators(path) : Array(path.utf8)
    return path.split(separator: UInt8(ascii: "/")).contains { segment in
      var rest = segment
      var dots = 0
      while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "%"), rest.starts(with: "2e".utf8) || rest.starts(with: "2E".utf8) {
          rest = rest.dropFirst(2)
        } else if byte != UInt8(ascii: ".") {
          return false
        }
        dots += 1
        if dots > 2 { return false }
      }
      return true
    }
  }

  private static func decodingSeparators(_ path: some StringProtocol) -> [UInt8] {
    var result: [UInt8] = []
    var rest = Array(path.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"),
        ["2f", "2F", "5c", "5C"].contains(where: { rest.starts(with: $0.utf8) })
      {
        rest = rest.dropFirst(2)
        result.append(UInt8(ascii: "/"))
      } else {
        result.append(byte == UInt8(ascii: "\\") ? UInt8(ascii: "/") : byte)
      }
    }
    return result
  }

  /// Whether all bytes are visible ASCII, without `#`.
  package static func isTarget(_ text: some StringProtocol) -> Bool {
    text.utf8.allSatisfy { $0 >= 0x21 && $0 <= 0x7E && $0 != UInt8(ascii: "#") }
  }

  /// Whether a URL's text equals the requested one: byte for byte, except bytes that no URI may
  /// contain, which are percent-encoded (RFC 3986 §2).
  static func says(_ text: some StringProtocol, as asked: some StringProtocol) -> Bool {
    var text = Array(text.utf8)[...]
    let asked = Array(asked.utf8)
    for (index, byte) in asked.enumerated() {
      let isAlone =
        byte == UInt8(ascii: "%")
        && (index + 2 >= asked.count || asked[index + 1].hexadecimalValue == nil
          || asked[index + 2].hexadecimalValue == nil)
      if text.first == byte, !isAlone {
        text.removeFirst()
        continue
      }
      guard isAlone || !isURIByte(byte), text.count >= 3, text.first == UInt8(ascii: "%"),
        let high = text[text.startIndex + 1].hexadecimalValue,
        let low = text[text.startIndex + 2].hexadecimalValue, high << 4 | low == byte
      else { return false }
      text.removeFirst(3)
    }
    return text.isEmpty
  }

  /// Whether the byte may occur in a path or a query.
  private static func isURIByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0...0x20, 0x22, 0x3C, 0x3E, 0x5B...0x5E, 0x60, 0x7B...0x7D, 0x7F...: false
    default: true
    }
  }
}
