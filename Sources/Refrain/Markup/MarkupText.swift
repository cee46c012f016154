// SPDX-License-Identifier: MIT

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
    var index = bytes.startIndex
    while index < bytes.endIndex {
      if bytes[index] == UInt8(ascii: "&"),
        let (scalar, end) = reference(in: bytes, after: index + 1)
      {
        result += Array(String(Character(scalar)).utf8)
        index = end
      } else {
        result.append(bytes[index])
        index += 1
      }
    }
    return String(validating: result, as: UTF8.self)
  }

  /// Returns a text as it is written in character data or in an attribute in either quotes.
  static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&apos;"
      // A parser would replace these by spaces in an attribute (§3.3.3).
      case "\t", "\n", "\r": result += "&#\(scalar.value);"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// Returns the bytes without the white space around them.
  package static func trimmed(_ range: Range<Int>, in body: [UInt8]) -> Range<Int> {
    var range = range
    while let first = range.first, body[first].isMarkupSpace {
      range = first + 1..<range.upperBound
    }
    while let last = range.last, body[last].isMarkupSpace { range = range.lowerBound..<last }
    return range
  }

  private static let entities: [(name: [UInt8], scalar: Unicode.Scalar)] = [
    (Array("amp;".utf8), "&"), (Array("lt;".utf8), "<"), (Array("gt;".utf8), ">"),
    (Array("quot;".utf8), "\""), (Array("apos;".utf8), "'"),
  ]

  /// Reads what follows an `&`: `amp;`, `#38;`, `#x26;`.
  private static func reference(
    in bytes: ArraySlice<UInt8>, after start: Int
  ) -> (Unicode.Scalar, end: Int)? {
    guard start < bytes.endIndex, bytes[start] == UInt8(ascii: "#") else {
      for (name, scalar) in entities where bytes[start...].starts(with: name) {
        return (scalar, start + name.count)
      }
      return nil
    }
    var index = start + 1
    let isHexadecimal = index < bytes.endIndex && bytes[index] == UInt8(ascii: "x")
    if isHexadecimal { index += 1 }
    let first = index
    var value: UInt32 = 0
    while index < bytes.endIndex, let digit = bytes[index].hexadecimalValue,
      isHexadecimal || digit < 10
    {
      // No character has so great a number; further digits only make it greater.
      if value <= 0x10_FFFF { value = value * (isHexadecimal ? 16 : 10) + UInt32(digit) }
      index += 1
    }
    guard index > first, index < bytes.endIndex, bytes[index] == UInt8(ascii: ";"),
      let scalar = Unicode.Scalar(value), isAllowed(scalar)
    else { return nil }
    return (scalar, index + 1)
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
