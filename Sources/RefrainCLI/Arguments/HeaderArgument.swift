// SPDX-License-Identifier: MIT
import Refrain

/// A header on the command line: `Name: value`.
enum HeaderArgument {
  static func parse(_ text: String) throws -> HeaderFields.Field {
    guard let colon = text.firstIndex(of: ":") else {
      throw InvalidArgument("a header is written 'Name: value'")
    }
    let name = String(text[..<colon])
    guard !name.isEmpty, name.utf8.allSatisfy(isTokenByte) else {
      throw InvalidArgument("'\(printable(name))' is not a valid header name")
    }
    let value = text[text.index(after: colon)...]
    // Checks bytes: Swift treats CR LF as one character.
    guard value.utf8.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7f) }) else {
      throw InvalidArgument("a header's value must be one line without control characters")
    }
    return HeaderFields.Field(name: name, value: trimmed(value))
  }

  /// Whether the byte may occur in a token (RFC 9110 §5.6.2).
  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default:
      "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }

  /// Returns the value without surrounding white space, which is not part of it (RFC 9110 §5.5).
  private static func trimmed(_ value: Substring) -> String {
    let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    var value = value.drop(while: isSpace)
    while let last = value.last, isSpace(last) { value.removeLast() }
    return String(value)
  }
}
