// SPDX-License-Identifier: MIT

/// A Dictionary of structured fields (RFC 8941 §3.2), parsed strictly by §4.2.2. Parameters and the
/// contents of inner lists are checked, but not kept.
struct StructuredDictionary: Sendable, Hashable {
  enum Value: Sendable, Hashable {
    case integer(Int64)
    case boolean(Bool)
    /// A decimal, a string, a token, a byte sequence or an inner list.
    case other
  }

  /// Of several members with one name, the last counts.
  private(set) var members: [String: Value] = [:]

  /// Nil if any part of the text violates the syntax.
  init?(_ text: String) {
    var parser = Parser(rest: text.utf8[...])
    parser.skip(" ")
    while !parser.isAtEnd {
      guard let name = parser.key() else { return nil }
      var value = Value.boolean(true)
      if parser.take("=") {
        guard let given = parser.itemOrInnerList() else { return nil }
        value = given
      } else if !parser.parameters() {
        return nil
      }
      members[name] = value
      parser.skipOWS()
      if parser.isAtEnd { return }
      guard parser.take(",") else { return nil }
      parser.skipOWS()
      if parser.isAtEnd { return nil }
    }
  }

  private struct Parser {
    var rest: Substring.UTF8View

    var isAtEnd: Bool { rest.isEmpty }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
      guard rest.first == UInt8(ascii: character) else { return false }
      rest.removeFirst()
      return true
    }

    mutating func skip(_ character: Unicode.Scalar) {
      while take(character) {}
    }

    mutating func skipOWS() {
      rest = rest.drop { $0 == 0x20 || $0 == 0x09 }
    }

    mutating func take(while belongs: (UInt8) -> Bool) -> String {
      let taken = rest.prefix(while: belongs)
      rest = rest[taken.endIndex...]
      return String(decoding: taken, as: UTF8.self)
    }

    mutating func key() -> String? {
      guard let first = rest.first, Self.isLower(first) || first == UInt8(ascii: "*") else {
        return nil
      }
      return take {
        Self.isLower($0) || $0.isDigit || [0x5F, 0x2D, 0x2E, 0x2A].contains($0)  // _ - . *
      }
    }

    mutating func itemOrInnerList() -> Value? {
      guard take("(") else {
        guard let value = bareItem(), parameters() else { return nil }
        return value
      }
      while true {
        skip(" ")
        if take(")") { return parameters() ? .other : nil }
        guard bareItem() != nil, parameters() else { return nil }
        guard rest.first == UInt8(ascii: " ") || rest.first == UInt8(ascii: ")") else { return nil }
      }
    }

    /// - Returns: false if they violate the syntax; true also if there are none.
    mutating func parameters() -> Bool {
      while take(";") {
        skip(" ")
        guard key() != nil else { return false }
        if take("="), bareItem() == nil { return false }
      }
      return true
    }

    private mutating func bareItem() -> Value? {
      switch rest.first {
      case UInt8(ascii: "\"")?: string() ? .other : nil
      case UInt8(ascii: ":")?: byteSequence() ? .other : nil
      case UInt8(ascii: "?")?: boolean()
      case let byte? where byte == UInt8(ascii: "-") || byte.isDigit: number()
      case let byte? where byte == UInt8(ascii: "*") || Self.isLetter(byte): token()
      default: nil
      }
    }

    private mutating func number() -> Value? {
      let isNegative = take("-")
      let digits = take { $0.isDigit }
      guard (1...15).contains(digits.utf8.count), let value = Int64(digits) else { return nil }
      guard take(".") else { return .integer(isNegative ? -value : value) }
      let fraction = take { $0.isDigit }
      return digits.utf8.count <= 12 && (1...3).contains(fraction.utf8.count) ? .other : nil
    }

    private mutating func boolean() -> Value? {
      rest.removeFirst()
      if take("1") { return .boolean(true) }
      return take("0") ? .boolean(false) : nil
    }

    private mutating func token() -> Value? {
      _ = take { $0.isTokenCharacter || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") }
      return .other
    }

    private mutating func string() -> Bool {
      rest.removeFirst()
      while let byte = rest.popFirst() {
        switch byte {
        case UInt8(ascii: "\""): return true
        case UInt8(ascii: "\\"):
          let escaped = rest.popFirst()
          guard escaped == UInt8(ascii: "\"") || escaped == UInt8(ascii: "\\") else { return false }
        case 0x20...0x7E: break
        default: return false
        }
      }
      return false
    }

    private mutating func byteSequence() -> Bool {
      rest.removeFirst()
      // base64: letters, digits, + / =
      _ = take { Self.isLetter($0) || $0.isDigit || [0x2B, 0x2F, 0x3D].contains($0) }
      return take(":")
    }

    private static func isLower(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }
    private static func isLetter(_ byte: UInt8) -> Bool { isLower(byte | 0x20) }
  }
}
