// SPDX-License-Identifier: MIT
package import Foundation

/// A URI reference in its five parts, split and resolved by RFC 3986 and otherwise unchanged:
/// percent-encoding stays byte for byte, since the signature of a signed URL covers its spelling.
package struct URIReference: Sendable, Hashable {
  package var scheme: String?
  package var authority: String?
  package var path: String
  package var query: String?
  package var fragment: String?

  /// Any string splits (RFC 3986 §B), by its bytes: a delimiter is one also before a combining mark,
  /// with which it forms one character.
  package init(_ text: String) {
    var rest = text.utf8[...]
    func takeEnd(behind mark: UInt8) -> String? {
      guard let index = rest.firstIndex(of: mark) else { return nil }
      defer { rest = rest[..<index] }
      return String(Substring(rest[rest.index(after: index)...]))
    }
    fragment = takeEnd(behind: UInt8(ascii: "#"))
    query = takeEnd(behind: UInt8(ascii: "?"))
    if let colon = rest.firstIndex(of: UInt8(ascii: ":")), Self.isScheme(rest[..<colon]) {
      scheme = String(Substring(rest[..<colon]))
      rest = rest[rest.index(after: colon)...]
    }
    if rest.starts(with: "//".utf8) {
      let afterSlashes = rest.dropFirst(2)
      let end = afterSlashes.firstIndex(of: UInt8(ascii: "/")) ?? afterSlashes.endIndex
      authority = String(Substring(afterSlashes[..<end]))
      rest = afterSlashes[end...]
    }
    path = String(Substring(rest))
  }

  /// The text by RFC 3986 §5.3, without the fragment, which no request carries.
  package var textWithoutFragment: String {
    var text = ""
    if let scheme { text += scheme + ":" }
    if let authority { text += "//" + authority }
    text += path
    if let query { text += "?" + query }
    return text
  }

  /// - Returns: the text before the `@` of the authority; nil if there is none.
  package mutating func removeUserInfo() -> String? {
    guard let whole = authority, let at = whole.utf8.lastIndex(of: UInt8(ascii: "@")) else {
      return nil
    }
    authority = String(whole[whole.utf8.index(after: at)...])
    return String(whole[..<at])
  }

  /// Returns this reference resolved against a base (RFC 3986 §5.2.2).
  package func resolved(against base: URIReference) -> URIReference {
    var target = self
    if scheme == nil {
      target.scheme = base.scheme
      if authority == nil {
        target.authority = base.authority
        if path.isEmpty {
          target.path = base.path
          target.query = query ?? base.query
          return target
        }
        if path.utf8.first != UInt8(ascii: "/") { target.path = merged(with: base) }
      }
    }
    target.path = Self.removingDotSegments(target.path)
    return target
  }

  /// RFC 3986 §5.2.3.
  private func merged(with base: URIReference) -> String {
    if base.authority != nil, base.path.isEmpty { return "/" + path }
    guard let slash = base.path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
    return String(base.path[...slash]) + path
  }

  /// RFC 3986 §5.2.4, segment by segment.
  package static func removingDotSegments(_ path: String) -> String {
    guard mayHaveDotSegments(path) else { return path }
    let isAbsolute = path.utf8.first == UInt8(ascii: "/")
    let segments = path.utf8.dropFirst(isAbsolute ? 1 : 0).split(
      separator: UInt8(ascii: "/"), omittingEmptySubsequences: false
    ).map { Substring($0) }
    var kept: [Substring] = []
    for segment in segments {
      if segment == ".." { _ = kept.popLast() }
      if segment != ".", segment != ".." { kept.append(segment) }
    }
    if segments.last == "." || segments.last == ".." { kept.append("") }
    return (isAbsolute ? "/" : "") + kept.joined(separator: "/")
  }

  /// Most paths have none: each key and each reference of a playlist passes here.
  private static func mayHaveDotSegments(_ path: String) -> Bool {
    var before = UInt8(ascii: "/")
    for byte in path.utf8 {
      if byte == UInt8(ascii: "."), before == UInt8(ascii: "/") { return true }
      before = byte
    }
    return false
  }

  private static func isScheme(_ text: Substring.UTF8View) -> Bool {
    text.first?.isLetter == true
      && text.allSatisfy {
        $0.isLetter || $0.isDigit || $0 == 0x2B || $0 == 0x2D || $0 == 0x2E
      }
  }
}

/// Equivalence of URIs (RFC 3986 §6.2.2, and §6.2.3 for http and https): two spellings that every
/// origin must treat as the same resource become one. Nothing else is merged: `%2F` stays distinct
/// from `/`; the order of a query and a slash at the end of a path are kept.
extension URIReference {
  /// The normalized spelling, without user information: for comparison, never for a request.
  package var normalized: URIReference {
    var result = self
    _ = result.removeUserInfo()
    result.scheme = scheme?.lowercased()
    result.authority = result.authority.map {
      Self.normalizedAuthority($0, scheme: result.scheme)
    }
    result.path = Self.normalizedEncoding(path)
    // A reference without a scheme is resolved later: its dots are still significant.
    if scheme != nil { result.path = Self.removingDotSegments(result.path) }
    let isWeb = result.scheme == "http" || result.scheme == "https"
    if isWeb, authority != nil, result.path.isEmpty { result.path = "/" }
    result.query = query.map(Self.normalizedEncoding)
    return result
  }

  /// Returns the host in lower case, without the scheme's default port (RFC 3986 §6.2.2.1, §6.2.3).
  private static func normalizedAuthority(_ text: String, scheme: String?) -> String {
    var (host, port) = (text[...], Substring())
    if let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")),
      text.utf8[text.utf8.index(after: colon)...].allSatisfy(\.isDigit)
    {
      (host, port) = (text[..<colon], text[text.utf8.index(after: colon)...])
    }
    let isDefault =
      port.isEmpty || ["http": 80, "https": 443][scheme].map { $0 == Int(port) } ?? false
    // The digits of percent-encoded bytes stay in upper case.
    let lowercased = normalizedEncoding(normalizedEncoding(String(host)).lowercased())
    return lowercased + (isDefault ? "" : ":\(port)")
  }

  /// Decodes characters that need no encoding (unreserved, §2.3), encodes those that no URI may
  /// have (non-ASCII), and writes hexadecimal digits in upper case (§6.2.2.1, §6.2.2.2). A `%` that
  /// encodes nothing stays.
  private static func normalizedEncoding(_ text: String) -> String {
    guard text.utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 >= 0x80 }) else { return text }
    let bytes = PercentEncoded.map(text.utf8[...]) { bytes, unit in
      let isPlain = unit.isEncoded ? unit.byte.isUnreserved : unit.byte < 0x80
      if isPlain { bytes.append(unit.byte) } else { bytes += unit.encoded }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension URL {
  /// Creates the URL that a person, a document or a Location spells, without its fragment. The
  /// spelling is kept: a signed URL would lose its signature otherwise.
  ///
  /// Only bytes that no URI may have are encoded (RFC 3986 §2): spaces, UTF-8, quotes, brackets in
  /// a path, a `%` that encodes nothing. `URL(string:)` is unsuitable for such text: it would
  /// encode every other `%` again, and turn `a%2Fb?c[]` into `a%252Fb?c%5B%5D`. A host with
  /// non-ASCII letters takes its DNS form (RFC 5891).
  package init?(text: some StringProtocol, relativeTo base: URL? = nil) {
    var target = URIReference(String(text))
    target.authority = target.authority.map { Self.encoded(Self.inASCII($0), brackets: false) }
    if let base { target = target.resolved(against: URIReference(base.absoluteString)) }
    target.path = Self.encoded(target.path)
    target.query = target.query.map { Self.encoded($0) }
    self.init(string: target.textWithoutFragment, encodingInvalidCharacters: false)
  }

  /// Returns `xn--bcher-kva.example` for `bücher.example`; unchanged if there is no such form.
  private static func inASCII(_ authority: String) -> String {
    guard authority.utf8.contains(where: { $0 >= 0x80 }) else { return authority }
    let start = authority.lastIndex(of: "@").map { authority.index(after: $0) }
    let host = authority[(start ?? authority.startIndex)...]
    guard let url = URL(string: "http://\(host)/"),
      let ascii = URIReference(url.absoluteString).authority, ascii.utf8.allSatisfy({ $0 < 0x80 })
    else { return authority }
    return authority[..<(start ?? authority.startIndex)] + ascii
  }

  /// Encodes the bytes that no URI may have. Brackets belong only in the authority (`[::1]`).
  private static func encoded(_ text: String, brackets: Bool = true) -> String {
    func isForbidden(_ byte: UInt8) -> Bool {
      switch byte {
      case 0...0x20, 0x22, 0x3C, 0x3E, 0x5C, 0x5E, 0x60, 0x7B...0x7D, 0x7F...: true
      case 0x5B, 0x5D: brackets
      default: false
      }
    }
    guard text.utf8.contains(where: { $0 == UInt8(ascii: "%") || isForbidden($0) }) else {
      return text
    }
    let bytes = PercentEncoded.map(text.utf8[...]) { bytes, unit in
      let isWrong = !unit.isEncoded && (unit.byte == UInt8(ascii: "%") || isForbidden(unit.byte))
      if isWrong { bytes += unit.encoded } else { bytes += unit.spelling }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension URL {
  package var withoutUserInfo: URL {
    var reference = URIReference(absoluteString)
    guard reference.removeUserInfo() != nil else { return self }
    let text = reference.textWithoutFragment + (reference.fragment.map { "#" + $0 } ?? "")
    // The text stays a URL, since user information is optional (RFC 3986 §3.2); if it did not, a
    // useless URL would be better than a leaked password.
    return URL(string: text, encodingInvalidCharacters: false) ?? URL(filePath: "/")
  }

  /// The value of Authorization for `user:password@` (RFC 7617); nil if the URL names no user.
  package var basicAuthorization: String? {
    var reference = URIReference(absoluteString)
    guard let userInfo = reference.removeUserInfo(), !userInfo.isEmpty, userInfo != ":" else {
      return nil
    }
    var bytes = Self.percentDecoded(userInfo.utf8[...])
    if !userInfo.contains(":") { bytes.append(UInt8(ascii: ":")) }
    return "Basic " + Data(bytes).base64EncodedString()
  }

  /// Returns bytes, since a password need not be UTF-8. A `%` that encodes nothing is literal.
  static func percentDecoded(_ text: Substring.UTF8View) -> [UInt8] {
    guard text.contains(UInt8(ascii: "%")) else { return Array(text) }
    return PercentEncoded.map(text) { bytes, unit in bytes.append(unit.byte) }
  }
}

/// One byte of a URI's text, percent-encoded there or not (RFC 3986 §2.1).
struct PercentEncoded {
  var byte: UInt8
  var spelling: Substring.UTF8View

  var isEncoded: Bool { spelling.count > 1 }

  /// `%` and two hexadecimal digits in upper case (§6.2.2.1).
  var encoded: [UInt8] {
    func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x37 + value }
    return [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 15)]
  }

  /// Returns the bytes that `append` makes of a text's. A `%` that encodes nothing is a plain byte.
  static func map(
    _ text: Substring.UTF8View,
    _ append: (inout [UInt8], PercentEncoded) -> Void
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var rest = text
    while let first = rest.first {
      let encoded =
        first == UInt8(ascii: "%") ? UInt8(hexadecimal: rest.dropFirst().prefix(2)) : nil
      let spelling = rest.prefix(encoded == nil ? 1 : 3)
      append(&bytes, PercentEncoded(byte: encoded ?? first, spelling: spelling))
      rest = rest[spelling.endIndex...]
    }
    return bytes
  }
}
