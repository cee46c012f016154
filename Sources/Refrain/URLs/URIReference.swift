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

  /// Any text splits (RFC 3986 §B), by its bytes: a delimiter is one also before a combining mark.
  package init(_ text: String) {
    var rest = text.utf8[...]
    func takeEnd(behind mark: UInt8) -> String? {
      guard let index = rest.firstIndex(of: mark) else { return nil }
      defer { rest = rest[..<index] }
      return String(Substring(rest[rest.index(after: index)...]))
    }
    fragment = takeEnd(behind: UInt8(ascii: "#"))
    query = takeEnd(behind: UInt8(ascii: "?"))
    if let colon = rest.firstIndex(of: UInt8(ascii: ":")), rest.first?.isLetter == true,
      rest[..<colon].allSatisfy({ $0.isLetter || $0.isDigit || "+-.".utf8.contains($0) })
    {
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
          (target.path, target.query) = (base.path, query ?? base.query)
          return target
        }
        if path.utf8.first != UInt8(ascii: "/") {
          let slash = base.path.utf8.lastIndex(of: UInt8(ascii: "/"))
          let root = base.authority != nil && base.path.isEmpty ? "/" : ""
          target.path = (slash.map { String(base.path[...$0]) } ?? root) + path
        }
      }
    }
    target.path = Self.removingDotSegments(target.path)
    return target
  }

  /// RFC 3986 §5.2.4, segment by segment.
  package static func removingDotSegments(_ path: String) -> String {
    // Most paths have none: each key and each reference of a playlist passes here.
    let (slash, dot) = (UInt8(ascii: "/"), UInt8(ascii: "."))
    let mayHaveDots = zip(path.utf8, path.utf8.dropFirst()).contains { $0 == slash && $1 == dot }
    guard path.utf8.first == dot || mayHaveDots else { return path }
    let isAbsolute = path.utf8.first == slash
    let segments = path.utf8.dropFirst(isAbsolute ? 1 : 0)
      .split(separator: slash, omittingEmptySubsequences: false).map { Substring($0) }
    var kept = segments.reduce(into: [Substring]()) { kept, segment in
      if segment == ".." { _ = kept.popLast() }
      if segment != ".", segment != ".." { kept.append(segment) }
    }
    if segments.last == "." || segments.last == ".." { kept.append("") }
    return (isAbsolute ? "/" : "") + kept.joined(separator: "/")
  }

  /// One spelling of all that every origin must treat as the same resource (RFC 3986 §6.2.2,
  /// §6.2.3), without user information: for comparison, never for a request.
  package var normalized: URIReference {
    var result = self
    _ = result.removeUserInfo()
    result.scheme = scheme?.lowercased()
    let port = ["http": 80, "https": 443][result.scheme]
    result.authority = result.authority.map { text in
      guard let authority = Authority(text) else { return text.lowercased() }
      return authority.port == port ? authority.host : authority.text
    }
    result.path = Self.encoded(path, isNormal: true)
    // A reference without a scheme is resolved later: its dots are still significant.
    if scheme != nil { result.path = Self.removingDotSegments(result.path) }
    if port != nil, authority != nil, result.path.isEmpty { result.path = "/" }
    result.query = query.map { Self.encoded($0, isNormal: true) }
    return result
  }

  /// Encodes the bytes that no URI may have (§2), such as brackets but in the authority, and a `%`
  /// that encodes nothing. In normal text no unreserved character is encoded (§2.3), and digits are
  /// in upper case.
  fileprivate static func encoded(
    _ text: String, isNormal: Bool = false, isAuthority: Bool = false
  ) -> String {
    func isForbidden(_ byte: UInt8) -> Bool {
      switch byte {
      case ...0x20, 0x22, 0x3C, 0x3E, 0x5C, 0x5E, 0x60, 0x7B...0x7D, 0x7F...: true
      case 0x5B, 0x5D: !isAuthority
      default: false
      }
    }
    func encoded(_ byte: UInt8) -> String.UTF8View {
      ((byte < 0x10 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)).utf8
    }
    let percent = UInt8(ascii: "%")
    guard text.utf8.contains(where: { $0 == percent || isForbidden($0) }) else { return text }
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      let digits = rest.prefix(2)
      let value = byte == percent ? UInt8(hexadecimal: digits) : nil
      if value != nil { rest = rest[digits.endIndex...] }
      switch value {
      case let value? where isNormal && value.isUnreserved: bytes.append(value)
      case let value? where isNormal: bytes += encoded(value)
      case _?: bytes += [percent] + digits
      case nil where byte == percent || isForbidden(byte): bytes += encoded(byte)
      case nil: bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension URL {
  /// Creates the URL that a person, a document or a Location spells, without its fragment. The
  /// spelling is kept, as signatures need it, but for bytes that no URI may have. `URL(string:)`
  /// would encode every other `%` again, and turn `a%2Fb?c[]` into `a%252Fb?c%5B%5D`. A host with
  /// non-ASCII letters takes its DNS form (RFC 5891).
  package init?(text: some StringProtocol, relativeTo base: URL? = nil) {
    var target = URIReference(String(text))
    target.authority = target.authority.map {
      URIReference.encoded(Self.inASCII($0), isAuthority: true)
    }
    if let base { target = target.resolved(against: URIReference(base.absoluteString)) }
    target.path = URIReference.encoded(target.path)
    target.query = target.query.map { URIReference.encoded($0) }
    self.init(string: target.textWithoutFragment, encodingInvalidCharacters: false)
  }

  /// Returns `xn--bcher-kva.example` for `bücher.example`; unchanged if there is no such form.
  static func inASCII(_ authority: String) -> String {
    // Foundation would encode a `%` of a user or password again.
    let at = authority.lastIndex(of: "@").map { authority.index(after: $0) }
    let host = authority[(at ?? authority.startIndex)...]
    guard host.utf8.contains(where: { $0 >= 0x80 }), let url = URL(string: "http://\(host)/"),
      let ascii = URIReference(url.absoluteString).authority, ascii.utf8.allSatisfy({ $0 < 0x80 })
    else { return authority }
    return authority.dropLast(host.count) + ascii
  }

  package var withoutUserInfo: URL {
    var reference = URIReference(absoluteString)
    guard reference.removeUserInfo() != nil else { return self }
    let text = reference.textWithoutFragment + (reference.fragment.map { "#" + $0 } ?? "")
    // A useless URL would be better than a leaked password.
    return URL(string: text, encodingInvalidCharacters: false) ?? URL(filePath: "/")
  }

  /// The value of Authorization for `user:password@` (RFC 7617); nil if the URL names no user.
  package var basicAuthorization: String? {
    var reference = URIReference(absoluteString)
    guard let userInfo = reference.removeUserInfo(), !userInfo.isEmpty, userInfo != ":" else {
      return nil
    }
    let bytes = Self.percentDecoded((userInfo.contains(":") ? userInfo : userInfo + ":").utf8[...])
    return "Basic " + Data(bytes).base64EncodedString()
  }

  /// Text that is no percent-encoded UTF-8 stays as it is.
  static func percentDecoded(_ text: Substring.UTF8View) -> [UInt8] {
    guard text.contains(UInt8(ascii: "%")) else { return Array(text) }
    let text = String(Substring(text))
    return Array((text.removingPercentEncoding ?? text).utf8)
  }
}
