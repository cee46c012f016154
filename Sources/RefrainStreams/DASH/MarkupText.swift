// SPDX-License-Identifier: MIT
import Refrain

/// Character data of XML: predefined entities and character references (XML 1.0 §4.1, §4.6).
package enum MarkupText {
  /// Returns the characters that bytes stand for; nil if they are not UTF-8. An unknown entity, and
  /// a reference to a character that XML does not allow, stay as they are.
  package static func decoded(_ bytes: ArraySlice<UInt8>) -> String? {
    guard bytes.contains(UInt8(ascii: "&")) else {
      return String(validating: bytes, as: UTF8.self)
    }
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var rest = bytes
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "&"), let (scalar, end) = reference(at: rest) {
        result += String(Character(scalar)).utf8
        rest = rest[end...]
      } else {
        result.append(byte)
      }
    }
    return String(validating: result, as: UTF8.self)
  }

  /// Returns a text as it is written in character data or in an attribute in either quotes.
  static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      if let entity = entities.first(where: { $0.scalar == scalar }) {
        result += "&\(entity.name)"
      } else if "\t\n\r".unicodeScalars.contains(scalar) {
        // A parser would replace these by spaces in an attribute (§3.3.3).
        result += "&#\(scalar.value);"
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// Returns the range without the white space around it.
  package static func trimmed(_ range: Range<Int>, in body: [UInt8]) -> Range<Int> {
    var (start, end) = (range.lowerBound, range.upperBound)
    while start < end, body[start].isMarkupSpace { start += 1 }
    while start < end, body[end - 1].isMarkupSpace { end -= 1 }
    return start..<end
  }

  private static let entities: [(name: String, scalar: Unicode.Scalar)] = [
    ("amp;", "&"), ("lt;", "<"), ("gt;", ">"), ("quot;", "\""), ("apos;", "'"),
  ]

  /// Reads what follows an `&`: `amp;`, `#38;`, `#x26;`.
  private static func reference(at text: ArraySlice<UInt8>) -> (Unicode.Scalar, end: Int)? {
    guard text.first == UInt8(ascii: "#") else {
      return entities.first { text.starts(with: $0.name.utf8) }.map {
        ($0.scalar, text.startIndex + $0.name.utf8.count)
      }
    }
    let isHexadecimal = text.dropFirst().first == UInt8(ascii: "x")
    let digits = text.dropFirst(isHexadecimal ? 2 : 1).prefix {
      isHexadecimal ? Character(Unicode.Scalar($0)).isHexDigit : $0.isDigit
    }
    guard digits.endIndex < text.endIndex, text[digits.endIndex] == UInt8(ascii: ";"),
      let value = UInt32(String(decoding: digits, as: UTF8.self), radix: isHexadecimal ? 16 : 10),
      let scalar = Unicode.Scalar(value), isAllowed(scalar)
    else { return nil }
    return (scalar, digits.endIndex + 1)
  }

  /// XML 1.0 §2.2.
  private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x09, 0x0A, 0x0D: true
    case 0..<0x20, 0xFFFE, 0xFFFF: false
    default: true
    }
  }
}
