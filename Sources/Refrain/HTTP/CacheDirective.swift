// SPDX-License-Identifier: MIT

/// One directive of a Cache-Control field (RFC 9111 §5.2), of a request or a response.
package struct CacheDirective: Sendable, Hashable {
  /// In lower case.
  package var name: String
  /// A token, or a quoted string without its quotes and backslashes (RFC 9110 §5.6.4).
  package var argument: String?

  /// Returns the directives of a field's value, in order. Anything else in it is ignored: an
  /// unterminated string extends to the end, and other text to the next comma.
  package static func all(in value: String) -> [CacheDirective] {
    var directives: [CacheDirective] = []
    var rest = value.utf8[...]
    skipSpaces(in: &rest)
    while !rest.isEmpty {
      let name = take(from: &rest) { $0.isTokenCharacter }
      var argument: String?
      skipSpaces(in: &rest)
      if rest.first == UInt8(ascii: "=") {
        rest.removeFirst()
        skipSpaces(in: &rest)
        argument = self.argument(from: &rest)
      }
      if !name.isEmpty {
        directives.append(CacheDirective(name: name.lowercased(), argument: argument))
      }
      // Anything else before the next comma is no directive.
      _ = take(from: &rest) { $0 != UInt8(ascii: ",") }
      rest = rest.dropFirst()
      skipSpaces(in: &rest)
    }
    return directives
  }

  private static func argument(from rest: inout Substring.UTF8View) -> String {
    guard rest.first == UInt8(ascii: "\"") else {
      let plain = take(from: &rest) { $0 != UInt8(ascii: ",") }
      return String(plain.trimmingOWS)
    }
    rest.removeFirst()
    var bytes: [UInt8] = []
    while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
      if byte == UInt8(ascii: "\\") {
        if let escaped = rest.popFirst() { bytes.append(escaped) }
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func skipSpaces(in rest: inout Substring.UTF8View) {
    rest = rest.drop { $0 == 0x20 || $0 == 0x09 }
  }

  private static func take(
    from rest: inout Substring.UTF8View, while belongs: (UInt8) -> Bool
  ) -> String {
    let taken = rest.prefix(while: belongs)
    rest = rest[taken.endIndex...]
    return String(decoding: taken, as: UTF8.self)
  }
}
