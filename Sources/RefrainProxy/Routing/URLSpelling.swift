// SPDX-License-Identifier: MIT
internal import Refrain

/// The spelling of request targets and URLs.
package enum URLSpelling {
  /// Whether the path has a segment `.` or `..`, also as `%2e`: clients that resolve
  /// references never send one (RFC 3986 §5.2.4), and a client that sends one aims elsewhere.
  ///
  /// - Parameter decodesSeparators: whether `%2f`, `%5c` and `\` end a segment too, as for servers
  ///   that decode a path before they resolve it.
  static func hasDotSegment(path: some StringProtocol, decodesSeparators: Bool = false) -> Bool {
    let path = decodesSeparators ? decodingSeparators(path) : Array(path.utf8)
    return path.split(separator: UInt8(ascii: "/")).contains { segment in
      var rest = segment
      var dots = 0
      while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "%"), rest.starts(with: "2e".utf8) || rest.starts(with: "2E".utf8) {
          rest = rest.dropFirst(2)
        } else if byte != UInt8(ascii: ".") {
          return false
        }
        dots += 1
        if dots > 2 { return false }
      }
      return true
    }
  }

  private static func decodingSeparators(_ path: some StringProtocol) -> [UInt8] {
    var result: [UInt8] = []
    var rest = Array(path.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"),
        ["2f", "2F", "5c", "5C"].contains(where: { rest.starts(with: $0.utf8) })
      {
        rest = rest.dropFirst(2)
        result.append(UInt8(ascii: "/"))
      } else {
        result.append(byte == UInt8(ascii: "\\") ? UInt8(ascii: "/") : byte)
      }
    }
    return result
  }

  /// Whether all bytes are visible ASCII, without `#`.
  package static func isTarget(_ text: some StringProtocol) -> Bool {
    text.utf8.allSatisfy { $0 >= 0x21 && $0 <= 0x7E && $0 != UInt8(ascii: "#") }
  }

  /// Whether a URL's text equals the requested one: byte for byte, except bytes that no URI may
  /// contain, which are percent-encoded (RFC 3986 §2).
  static func says(_ text: some StringProtocol, as asked: some StringProtocol) -> Bool {
    var text = Array(text.utf8)[...]
    let asked = Array(asked.utf8)
    for (index, byte) in asked.enumerated() {
      let isAlone =
        byte == UInt8(ascii: "%")
        && (index + 2 >= asked.count || asked[index + 1].hexadecimalValue == nil
          || asked[index + 2].hexadecimalValue == nil)
      if text.first == byte, !isAlone {
        text.removeFirst()
        continue
      }
      guard isAlone || !isURIByte(byte), text.count >= 3, text.first == UInt8(ascii: "%"),
        let high = text[text.startIndex + 1].hexadecimalValue,
        let low = text[text.startIndex + 2].hexadecimalValue, high << 4 | low == byte
      else { return false }
      text.removeFirst(3)
    }
    return text.isEmpty
  }

  /// Whether the byte may occur in a path or a query.
  private static func isURIByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0...0x20, 0x22, 0x3C, 0x3E, 0x5B...0x5E, 0x60, 0x7B...0x7D, 0x7F...: false
    default: true
    }
  }
}
