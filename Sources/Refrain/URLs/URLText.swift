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
    var source = URIReference(String(text))
    source.authority = source.authority.map(Self.inASCII)
    var target = URIReference(Self.encodingForbiddenBytes(source.textWithoutFragment))
    if let base { target = target.resolved(against: URIReference(base.absoluteString)) }
    target.path = Self.encodingBrackets(target.path)
    target.query = target.query.map(Self.encodingBrackets)
    self.init(string: target.textWithoutFragment, encodingInvalidCharacters: false)
  }

  /// The URL as its origin resolves it (RFC 3986 §5.2.4): without `.` and `..` in its path, also
  /// percent-encoded ones, which are equivalent (§6.2.2.2).
  package var withoutDotSegments: URL {
    let text = absoluteString
    guard text.contains("/.") || text.contains("/%2") else { return self }
    var reference = URIReference(text)
    let segments = reference.path.split(separator: "/", omittingEmptySubsequences: false).map {
      let decoded = $0.lowercased().replacing("%2e", with: ".")
      return decoded == "." || decoded == ".." ? decoded : String($0)
    }
    reference.path = URIReference.removingDotSegments(segments.joined(separator: "/"))
    return URL(string: reference.textWithoutFragment, encodingInvalidCharacters: false) ?? self
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

  /// Brackets belong only in the authority: `[::1]`.
  private static func encodingBrackets(_ text: String) -> String {
    guard text.utf8.contains(where: { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "]") }) else {
      return text
    }
    return text.replacing("[", with: "%5B").replacing("]", with: "%5D")
  }

  private static func encodingForbiddenBytes(_ text: String) -> String {
    guard text.utf8.contains(where: { $0 == UInt8(ascii: "%") || isForbidden($0) }) else {
      return text
    }
    let source = Array(text.utf8)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(source.count)
    for (index, byte) in source.enumerated() {
      switch byte {
      case UInt8(ascii: "%")
      where index + 2 < source.count && source[index + 1].hexadecimalValue != nil
        && source[index + 2].hexadecimalValue != nil:
        bytes.append(byte)
      case _ where byte == UInt8(ascii: "%") || isForbidden(byte):
        bytes.append(UInt8(ascii: "%"))
        bytes.append(hexadecimal(byte >> 4))
        bytes.append(hexadecimal(byte & 15))
      default:
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func isForbidden(_ byte: UInt8) -> Bool {
    switch byte {
    case 0...0x20, 0x22, 0x3C, 0x3E, 0x5C, 0x5E, 0x60, 0x7B...0x7D, 0x7F...: true
    default: false
    }
  }

  private static func hexadecimal(_ value: UInt8) -> UInt8 {
    value < 10 ? 0x30 + value : 0x41 + value - 10
  }
}
