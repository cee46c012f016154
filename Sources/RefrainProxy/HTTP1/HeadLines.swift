// SPDX-License-Identifier: MIT
import Refrain

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// `chunk-size [ chunk-ext ]` (RFC 9112 §7.1): only hexadecimal digits before the end or the first
/// extension. No sign, no `0x`, no white space, which other programs might read differently.
enum ChunkSize {
  /// - Parameter line: without its CRLF.
  static func read(_ line: UnsafeRawBufferPointer) throws(HTTPError) -> Int64 {
    var size: Int64 = 0
    var index = 0
    while index < line.count, let digit = line[index].hexadecimalValue {
      // A further digit still fits, and no body is that long.
      guard size < 1 << 55 else { throw HTTPError(400, "A chunk size is too large.") }
      size = size << 4 | Int64(digit)
      index += 1
    }
    guard index > 0, index == line.count || line[index] == UInt8(ascii: ";"),
      line.part(index..<line.count).allSatisfy(\.isValueByte)
    else { throw HTTPError(400, "A chunk does not begin with its size.") }
    return size
  }
}

/// `field-name ":" OWS field-value OWS` (RFC 9112 §5), strictly.
struct FieldLine {
  var name: Range<Int>
  /// Without surrounding white space.
  var value: Range<Int>

  /// - Parameters:
  ///   - bytes: the bytes that contain the line.
  ///   - line: its range, without its CRLF, not empty.
  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer, _ line: Range<Int>) throws(HTTPError) {
    var colon = line.lowerBound
    while colon < line.upperBound, bytes[colon].isTokenCharacter { colon += 1 }
    guard colon > line.lowerBound, colon < line.upperBound, bytes[colon] == UInt8(ascii: ":") else {
      throw Self.badName(bytes.part(line))
    }
    name = line.lowerBound..<colon
    value = bytes.trimmed(colon + 1..<line.upperBound)
    guard bytes.part(value).allSatisfy(\.isValueByte) else {
      throw HTTPError(400, "The value of a header field contains a control character.")
    }
  }

  private static func badName(_ line: UnsafeRawBufferPointer) -> HTTPError {
    if line.first?.isOptionalWhitespace == true {
      return HTTPError(400, "A header field spans two lines, which HTTP no longer allows.")
    }
    return HTTPError(400, "A header field does not begin with a name and a colon.")
  }
}

extension UInt8 {
  static let tab: UInt8 = 0x09
  static let lineFeed: UInt8 = 0x0A
  static let carriageReturn: UInt8 = 0x0D
  static let space: UInt8 = 0x20

  /// Whether a field's value may contain this byte: visible ones, SP, HTAB, and bytes of other
  /// alphabets (RFC 9110 §5.5).
  var isValueByte: Bool { (self >= 0x20 && self != 0x7F) || self == .tab }

  var isOptionalWhitespace: Bool { self == .space || self == .tab }
}

extension UnsafeRawBufferPointer {
  /// Returns the offset of the next LF, at `offset` or after it.
  func lineFeed(from offset: Int) -> Int? {
    guard let base = baseAddress, offset >= 0, offset < count,
      let found = memchr(base + offset, CInt(UInt8.lineFeed), count - offset)
    else { return nil }
    return UnsafeRawPointer(found) - base
  }

  /// Whether these bytes are this name or token, ignoring case.
  ///
  /// - Parameter lowercase: letters in lower case, digits and `-`.
  func equals(_ lowercase: StaticString) -> Bool {
    count == lowercase.utf8CodeUnitCount && starts(with: lowercase)
  }

  func starts(with lowercase: StaticString) -> Bool {
    let length = lowercase.utf8CodeUnitCount
    guard lowercase.hasPointerRepresentation, count >= length else { return false }
    let expected = lowercase.utf8Start
    for index in 0..<length {
      let byte = self[index]
      let isUppercase = byte >= 0x41 && byte <= 0x5A
      guard (isUppercase ? byte | 0x20 : byte) == expected[index] else { return false }
    }
    return true
  }

  /// Returns a part of these bytes; the range is clamped to them.
  func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: self[range.clamped(to: 0..<count)])
  }

  /// These bytes without surrounding optional white space (RFC 9110 §5.6.3).
  var trimmed: UnsafeRawBufferPointer { part(trimmed(0..<count)) }

  func trimmed(_ range: Range<Int>) -> Range<Int> {
    var (from, to) = (range.lowerBound, range.upperBound)
    while from < to, self[from].isOptionalWhitespace { from += 1 }
    while from < to, self[to - 1].isOptionalWhitespace { to -= 1 }
    return from..<to
  }

  /// Calls `body` for each element of a list (RFC 9110 §5.6.1), trimmed, without empty ones. For
  /// lists of tokens: a comma inside quotes separates too.
  func forEachElement(_ body: (UnsafeRawBufferPointer) -> Void) {
    var from = 0
    while from < count {
      var to = from
      while to < count, self[to] != UInt8(ascii: ",") { to += 1 }
      let element = part(from..<to).trimmed
      if !element.isEmpty { body(element) }
      from = to + 1
    }
  }

  /// The value of `1*DIGIT` only; nil also if it overflows.
  var decimal: Int64? {
    guard !isEmpty else { return nil }
    var value: Int64 = 0
    for byte in self {
      guard byte.isDigit else { return nil }
      value.append(digit: byte)
    }
    // Too large, or as good as.
    return value < .max ? value : nil
  }

  /// The bytes as text; invalid UTF-8 becomes U+FFFD.
  var text: String { String(decoding: self, as: UTF8.self) }
}
