// SPDX-License-Identifier: MIT

/// Equivalence of URIs (RFC 3986 §6.2.2, and §6.2.3 for http and https): two spellings that every
/// origin must treat as the same resource become one. Nothing else is merged: `%2F` stays distinct
/// from `/`; the order of a query and a slash at the end of a path are kept.
extension URIReference {
  /// The normalized spelling. For comparison only: a request keeps its original spelling.
  package var normalized: URIReference {
    var result = self
    result.scheme = scheme?.lowercased()
    result.authority = authority.map { Self.normalizedAuthority($0, scheme: result.scheme) }
    result.path = Self.normalizedEncoding(path)
    // A reference without a scheme is resolved later: its dots are still significant.
    if scheme != nil { result.path = Self.removingDotSegments(result.path) }
    if result.isWeb, authority != nil, result.path.isEmpty { result.path = "/" }
    result.query = query.map(Self.normalizedEncoding)
    return result
  }

  private var isWeb: Bool { scheme == "http" || scheme == "https" }

  /// Returns the host in lower case, without the scheme's default port (RFC 3986 §6.2.2.1, §6.2.3).
  /// User information keeps its case.
  private static func normalizedAuthority(_ text: String, scheme: String?) -> String {
    guard !text.utf8.allSatisfy(isNormal) else { return text }
    var userInfo = ""
    var rest = text[...]
    if let at = text.utf8.lastIndex(of: UInt8(ascii: "@")) {
      userInfo = String(text[...at])
      rest = text[text.utf8.index(after: at)...]
    }
    var port = ""
    if let colon = rest.utf8.lastIndex(of: UInt8(ascii: ":")),
      rest[rest.utf8.index(after: colon)...].utf8.allSatisfy(\.isDigit)
    {
      port = String(rest[rest.utf8.index(after: colon)...])
      rest = rest[..<colon]
    }
    let isDefault =
      port.isEmpty || (scheme == "http" && Int(port) == 80)
      || (scheme == "https" && Int(port) == 443)
    let host = lowercased(normalizedEncoding(String(rest)))
    return userInfo + host + (isDefault ? "" : ":\(port)")
  }

  /// Whether a byte of an authority is the same in every spelling: a letter in lower case, a digit, or
  /// one of `-._~`.
  private static func isNormal(_ byte: UInt8) -> Bool {
    byte.isUnreserved && !(0x41...0x5A).contains(byte)
  }

  /// Returns the host in lower case, except for the digits of percent-encoded bytes.
  private static func lowercased(_ host: String) -> String {
    host.contains("%") ? normalizedEncoding(host.lowercased()) : host.lowercased()
  }

  /// Decodes characters that need no encoding (unreserved, §2.3), encodes those that no URI may
  /// have (non-ASCII), and writes hexadecimal digits in upper case (§6.2.2.1, §6.2.2.2). A `%` that
  /// encodes nothing stays.
  package static func normalizedEncoding(_ text: String) -> String {
    guard text.utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 >= 0x80 }) else { return text }
    let bytes = PercentEncoded.map(text.utf8[...]) { bytes, unit, _ in
      let isPlain = unit.isEncoded ? unit.byte.isUnreserved : unit.byte < 0x80
      if isPlain { bytes.append(unit.byte) } else { bytes += unit.encoded }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// One byte of a URI's text, percent-encoded there or not (RFC 3986 §2.1).
struct PercentEncoded {
  var byte: UInt8
  var isEncoded: Bool

  /// `%` and two hexadecimal digits in upper case (§6.2.2.1).
  var encoded: [UInt8] {
    let digits = Array("0123456789ABCDEF".utf8)
    return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
  }

  /// Returns the bytes of a text. A `%` that encodes nothing is a byte like any other.
  ///
  /// - Parameter append: appends what takes the place of a byte, which has been spelled so.
  static func map(
    _ text: Substring.UTF8View,
    _ append: (inout [UInt8], PercentEncoded, _ spelling: Substring.UTF8View) -> Void
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var rest = text
    while let first = rest.first {
      let digits = rest.dropFirst().prefix(2).compactMap(\.hexadecimalValue)
      let isEncoded = first == UInt8(ascii: "%") && digits.count == 2
      let byte = isEncoded ? digits[0] << 4 | digits[1] : first
      let spelling = rest.prefix(isEncoded ? 3 : 1)
      append(&bytes, PercentEncoded(byte: byte, isEncoded: isEncoded), spelling)
      rest = rest[spelling.endIndex...]
    }
    return bytes
  }
}
