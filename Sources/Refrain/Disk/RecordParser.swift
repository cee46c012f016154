// SPDX-License-Identifier: MIT
import Foundation

/// A parser for the strict subset of JSON (RFC 8259) that `EntryRecord.encoded` writes. Every
/// method returns nil, or false, for any other text.
struct RecordParser {
  private let bytes: UnsafeRawBufferPointer
  private var index = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  var isAtEnd: Bool { index == bytes.count }

  /// Reads a value into a variable that is still nil.
  mutating func take<Value>(
    _ variable: inout Value?, _ read: (inout RecordParser) -> Value?
  ) -> Bool {
    guard variable == nil, let value = read(&self) else { return false }
    variable = value
    return true
  }

  /// Reads an object with at least one member.
  ///
  /// - Parameter member: reads the value of a name, and returns whether it succeeded.
  mutating func object(_ member: (String, inout RecordParser) -> Bool) -> Bool {
    guard skip("{") else { return false }
    repeat {
      guard let name = string(), skip(":"), member(name, &self) else { return false }
    } while skip(",")
    return skip("}")
  }

  mutating func array<Element>(_ element: (inout RecordParser) -> Element?) -> [Element]? {
    guard skip("[") else { return nil }
    if skip("]") { return [] }
    var elements: [Element] = []
    repeat {
      guard let next = element(&self) else { return nil }
      elements.append(next)
    } while skip(",")
    return skip("]") ? elements : nil
  }

  mutating func boolean() -> Bool? {
    if skip("true") { return true }
    return skip("false") ? false : nil
  }

  /// Reads a number without fraction and exponent.
  mutating func integer() -> Int64? {
    let isNegative = skip("-")
    let start = index
    var value: Int64 = 0
    while let byte = peek, byte >= 0x30, byte <= 0x39 {
      let (product, overflows) = value.multipliedReportingOverflow(by: 10)
      let (sum, overflowsAgain) = product.addingReportingOverflow(Int64(byte - 0x30))
      guard !overflows, !overflowsAgain else { return nil }
      value = sum
      index += 1
    }
    guard index > start, hasPlainStart(start), !isNegative || value > 0 else { return nil }
    return isNegative ? -value : value
  }

  mutating func number() -> Double? {
    let start = index
    _ = skip("-")
    let digits = index
    while let byte = peek, Self.isOfNumber(byte) {
      index += 1
      // A decimal point is followed by a digit.
      if byte == UInt8(ascii: "."), peek.map({ $0 < 0x30 || $0 > 0x39 }) ?? true { return nil }
    }
    guard let first = digits < index ? bytes[digits] : nil, first >= 0x30, first <= 0x39,
      hasPlainStart(digits), bytes[index - 1] >= 0x30, bytes[index - 1] <= 0x39
    else { return nil }
    let text = String(
      decoding: UnsafeRawBufferPointer(rebasing: bytes[start..<index]), as: UTF8.self)
    // `JSONDecoder` decides about numbers near zero and beyond the range of a `Double`.
    guard let value = Double(text), value.isNormal || text == "0" else { return nil }
    return value
  }

  /// Reads seconds since the reference date, the default form of a date in `JSONEncoder`.
  mutating func date() -> Date? {
    number().map { Date(timeIntervalSinceReferenceDate: $0) }
  }

  mutating func string() -> String? {
    guard skip("\"") else { return nil }
    let start = index
    var allBits: UInt8 = 0
    while let byte = peek, byte != Self.quote, byte != Self.backslash {
      guard byte >= 0x20 else { return nil }
      allBits |= byte
      index += 1
    }
    if peek == Self.backslash { return escapedString(from: start) }
    defer { index += 1 }
    guard peek != nil else { return nil }
    let text = UnsafeRawBufferPointer(rebasing: bytes[start..<index])
    // ASCII needs no validation.
    return allBits < 0x80
      ? String(decoding: text, as: UTF8.self) : String(validating: text, as: UTF8.self)
  }

  /// Reads the rest of a string with escaped quotes or backslashes.
  private mutating func escapedString(from start: Int) -> String? {
    var text = Array(bytes[start..<index])
    while let byte = peek, byte != Self.quote {
      guard byte >= 0x20 else { return nil }
      if byte == Self.backslash {
        index += 1
        guard peek == Self.quote || peek == Self.backslash else { return nil }
      }
      guard let byte = peek else { return nil }
      text.append(byte)
      index += 1
    }
    guard skip("\"") else { return nil }
    return String(validating: text, as: UTF8.self)
  }

  private static let quote = UInt8(ascii: "\"")
  private static let backslash = UInt8(ascii: "\\")

  private static func isOfNumber(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "e"),
      UInt8(ascii: "E"), UInt8(ascii: "+"), UInt8(ascii: "-"):
      true
    default: false
    }
  }

  /// Whether the digits at `start` have no superfluous leading zero.
  private func hasPlainStart(_ start: Int) -> Bool {
    guard bytes[start] == UInt8(ascii: "0"), start + 1 < index else { return true }
    return bytes[start + 1] < 0x30 || bytes[start + 1] > 0x39
  }

  private var peek: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func skip(_ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard index + count <= bytes.count else { return false }
    for offset in 0..<count where bytes[index + offset] != text.utf8Start[offset] { return false }
    index += count
    return true
  }
}
