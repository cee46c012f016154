// SPDX-License-Identifier: MIT
package import Foundation

extension URL {
  /// Creates the URL that a person, a document or a Location spells, without its fragment. The
  /// spelling is kept: a signed URL would lose its signature otherwise.
  ///
  /// Only bytes that no URI may have are encoded (RFC 3986 §2): spaces, UTF-8, quotes, brackets in
  /// a path, a `%` that encodes nothing. `URL(string:)` is unsuitable for such text: it would
  /// encode every other `%` again, and turn `a%2Fb?c[]` into `a%252Fb?c%5B%5D`. A host with
  /// non-ASCII letters takes its DNS form (RFC 5891).
  ///
  /// - Parameter base: the base of a relative reference (RFC 3986 §5.2).
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

  /// Encodes the bytes that no URI may have.
  ///
  /// - Parameter brackets: whether these are among them: they belong only in the authority (`[::1]`).
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
  /// The URL without `user:password@`, for requests, records and messages.
  package var withoutUserInfo: URL {
    var reference = URIReference(absoluteString)
    guard reference.removeUserInfo() != nil else { return self }
    let text = reference.textWithoutFragment + (reference.fragment.map { "#" + $0 } ?? "")
    // The text stays a URL, since user information is optional (RFC 3986 §3.2); if it did not, a
    // useless URL would be better than a leaked password.
    return URL(string: text, encodingInvalidCharacters: false) ?? URL(filePath: "/")
  }

  /// The value of Authorization for `user:password@` in a request (RFC 7617). Nil if the URL
  /// names no user.
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
    let digits = Array("0123456789ABCDEF".utf8)
    return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
  }

  /// Returns the bytes of a text. A `%` that encodes nothing is a byte like any other.
  ///
  /// - Parameter append: appends what takes the place of a byte.
  static func map(
    _ text: Substring.UTF8View,
    _ append: (inout [UInt8], PercentEncoded) -> Void
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var rest = text
    while let first = rest.first {
      let digits = rest.dropFirst().prefix(2).compactMap(\.hexadecimalValue)
      let isEncoded = first == UInt8(ascii: "%") && digits.count == 2
      let byte = isEncoded ? digits[0] << 4 | digits[1] : first
      let spelling = rest.prefix(isEncoded ? 3 : 1)
      append(&bytes, PercentEncoded(byte: byte, spelling: spelling))
      rest = rest[spelling.endIndex...]
    }
    return bytes
  }
}
