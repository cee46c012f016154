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
    var index = line.lowerBound
    let end = line.upperBound
    while index < end, bytes[index].isTokenCharacter { index += 1 }
    guard index > line.lowerBound, index < end, bytes[index] == UInt8(ascii: ":") else {
      throw Self.badName(bytes.part(line))
    }
    name = line.lowerBound..<index
    index += 1
    while index < end, bytes[index].isOptionalWhitespace { index += 1 }
    let start = index
    var last = index
    while index < end {
      let byte = bytes[index]
      guard byte.isValueByte else {
        throw HTTPError(400, "The value of a header field contains a control character.")
      }
      index += 1
      if !byte.isOptionalWhitespace { last = index }
    }
    value = start..<last
  }

  private static func badName(_ line: UnsafeRawBufferPointer) -> HTTPError {
    if line.first?.isOptionalWhitespace == true {
      return HTTPError(400, "A header field spans two lines, which HTTP no longer allows.")
    }
    return HTTPError(400, "A header field does not begin with a name and a colon.")
  }
}

/// `method SP request-target SP HTTP-version` (RFC 9112 §3), strictly: a line that two programs
/// read differently permits request smuggling (RFC 9112 §11.2).
struct RequestLine: Sendable {
  var method = Place.none
  var target = Place.none
  var minorVersion = 1

  init() {}

  /// - Parameter line: without its CRLF, at the start of the head.
  init(_ line: UnsafeRawBufferPointer, targetLimit: Int) throws(HTTPError) {
    var end = 0
    while end < line.count, line[end].isTokenCharacter { end += 1 }
    guard end > 0, end < line.count, line[end] == .space else {
      throw HTTPError(400, "The request does not begin with a method and one space.")
    }
    method = Place(0..<end)
    let start = end + 1
    end = start
    while end < line.count, Self.isTargetByte(line[end]) { end += 1 }
    guard end > start, end < line.count, line[end] == .space else {
      throw HTTPError(400, "The request's target is not a valid URL.")
    }
    guard end - start <= targetLimit else {
      throw HTTPError(414, "The request's target is longer than \(targetLimit) bytes.")
    }
    target = Place(start..<end)
    minorVersion = try Self.minorVersion(line.part(end + 1..<line.count))
    try Self.checkForm(of: line.part(target.range), method: line.part(method.range))
  }

  /// Visible ASCII without `#`; a fragment is never sent.
  private static func isTargetByte(_ byte: UInt8) -> Bool {
    byte >= 0x21 && byte <= 0x7E && byte != UInt8(ascii: "#")
  }

  /// Reads `HTTP/1.1`: eight bytes, in capitals (RFC 9112 §2.3).
  private static func minorVersion(_ text: UnsafeRawBufferPointer) throws(HTTPError) -> Int {
    guard text.count == 8, text.part(0..<5).elementsEqual("HTTP/".utf8), text[5].isDigit,
      text[6] == UInt8(ascii: "."), text[7].isDigit
    else { throw HTTPError(400, "The request line does not end in an HTTP version.") }
    guard text[5] == UInt8(ascii: "1") else {
      throw HTTPError(505, "Only HTTP/1.1 and HTTP/1.0 are supported.")
    }
    return text[7] == UInt8(ascii: "0") ? 0 : 1
  }

  /// Checks the form of the target (RFC 9112 §3.2).
  private static func checkForm(
    of target: UnsafeRawBufferPointer, method: UnsafeRawBufferPointer
  ) throws(HTTPError) {
    if method.elementsEqual("CONNECT".utf8) {
      throw HTTPError(501, "Tunnels (CONNECT) are not supported.")
    }
    if target[0] == UInt8(ascii: "/") { return }
    if target.starts(with: "http://"), target.count > 7, target[7] != UInt8(ascii: "/") { return }
    if target.elementsEqual("*".utf8), method.elementsEqual("OPTIONS".utf8) { return }
    throw HTTPError(400, "The request's target is neither a path nor an http URL.")
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
  var trimmed: UnsafeRawBufferPointer {
    var from = 0
    var to = count
    while from < to, self[from].isOptionalWhitespace { from += 1 }
    while from < to, self[to - 1].isOptionalWhitespace { to -= 1 }
    return part(from..<to)
  }

  /// Calls `body` for each element of a list (RFC 9110 §5.6.1), trimmed, without empty ones. For
  /// lists of tokens: a comma inside quotes separates too.
  func forEachElement<Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) {
    var from = 0
    while from < count {
      var to = from
      while to < count, self[to] != UInt8(ascii: ",") { to += 1 }
      let element = part(from..<to).trimmed
      if !element.isEmpty { try body(element) }
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
