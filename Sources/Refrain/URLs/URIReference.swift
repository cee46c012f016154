// SPDX-License-Identifier: MIT

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
    if let hash = rest.firstIndex(of: UInt8(ascii: "#")) {
      fragment = String(Substring(rest[rest.index(after: hash)...]))
      rest = rest[..<hash]
    }
    if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
      query = String(Substring(rest[rest.index(after: mark)...]))
      rest = rest[..<mark]
    }
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
    let segments = path.utf8.split(
      separator: UInt8(ascii: "/"), omittingEmptySubsequences: false
    ).map { Substring($0) }
    guard segments.contains(".") || segments.contains("..") else { return path }
    let isAbsolute = path.utf8.first == UInt8(ascii: "/")
    var kept: [Substring] = []
    for (index, segment) in segments.enumerated() where !(isAbsolute && index == 0) {
      let isLast = index == segments.count - 1
      switch segment {
      case ".":
        if isLast { kept.append("") }
      case "..":
        if !kept.isEmpty { kept.removeLast() }
        if isLast { kept.append("") }
      default:
        kept.append(segment)
      }
    }
    return (isAbsolute ? "/" : "") + kept.joined(separator: "/")
  }

  /// Whether a segment begins with a dot: most paths have none.
  private static func mayHaveDotSegments(_ path: String) -> Bool {
    var before = UInt8(ascii: "/")
    for byte in path.utf8 {
      if byte == UInt8(ascii: "."), before == UInt8(ascii: "/") { return true }
      before = byte
    }
    return false
  }

  private static func isScheme(_ text: Substring.UTF8View) -> Bool {
    guard let first = text.first, (first | 0x20) >= 0x61, (first | 0x20) <= 0x7A else {
      return false
    }
    return text.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2D, 0x2E: true
      default: false
      }
    }
  }
}
