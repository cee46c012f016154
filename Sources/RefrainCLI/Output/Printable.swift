// SPDX-License-Identifier: MIT
import Foundation

/// Returns text from elsewhere (an origin, a file) fit for one line of a terminal: control
/// characters, which could move the cursor or set a title, become `\u{…}`.
func printable(_ text: String) -> String {
  // Most text is ASCII, and needs no table lookup.
  if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text }
  guard text.unicodeScalars.contains(where: isControl) else { return text }
  return text.unicodeScalars.reduce(into: "") { result, scalar in
    if isControl(scalar) {
      result += "\\u{\(String(scalar.value, radix: 16))}"
    } else {
      result.unicodeScalars.append(scalar)
    }
  }
}

/// Includes line separators and the marks that change the direction of text.
private func isControl(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.properties.generalCategory {
  case .control, .lineSeparator, .paragraphSeparator: true
  case .format: (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
  default: false
  }
}

/// Returns at most `width` characters of the text, without its middle: both ends of a URL matter.
func shortened(_ text: String, to width: Int) -> String {
  guard text.count > width else { return text }
  guard width > 1 else { return String(text.prefix(max(0, width))) }
  let tail = width / 2
  return "\(text.prefix(width - 1 - tail))…\(text.suffix(tail))"
}

/// Text for programs: JSON in one line, with sorted keys and RFC 3339 dates.
enum JSONText {
  static func line(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }
}
