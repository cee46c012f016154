// SPDX-License-Identifier: MIT
internal import Refrain

/// The state of a head while its lines are read, one after the other.
struct HeadReading: Sendable {
  var line = RequestLine()
  var marks: Marks = []
  var host = Place.none
  var range = Place.none
  private(set) var fieldCount = 0
  private var contentLength: Int64?
  private var isChunked = false
  private var closes = false
  private var asksToKeepAlive = false
  private var expects = false

  var framing: BodyFraming {
    isChunked ? .chunked : contentLength.map { .length($0) } ?? .none
  }

  var keepsAlive: Bool { !closes && (line.minorVersion >= 1 || asksToKeepAlive) }

  /// Whether the client waits for 100. A client of HTTP/1.0 does not know it, and without a body
  /// there is nothing to wait for (RFC 9110 §10.1.1).
  var expectsContinue: Bool {
    expects && line.minorVersion >= 1 && framing != .none && framing != .length(0)
  }

  /// - Parameter place: the line's range in the head, without its CRLF.
  mutating func readField(
    _ bytes: UnsafeRawBufferPointer, _ place: Range<Int>, limit: Int
  ) throws(HTTPError) {
    fieldCount += 1
    guard fieldCount <= limit else {
      throw HTTPError(431, "The request has more than \(limit) header fields.")
    }
    let field = try FieldLine(bytes, place)
    let name = bytes.part(field.name)
    switch name.count {
    case 3 where name.equals("via"): marks.insert(.via)
    case 4 where name.equals("host"): try readHost(bytes, field.value)
    case 5 where name.equals("range"): try readRange(field.value)
    case 6: try readSixLetters(name, bytes.part(field.value))
    case 7 where name.equals("upgrade"): marks.insert(.upgrade)
    case 10 where name.equals("connection"): readConnection(bytes.part(field.value))
    case 13 where name.equals("cache-control"): marks.insert(.cacheControl)
    case 13 where name.equals("authorization"): marks.insert(.authorization)
    case 14 where name.equals("content-length"): try readContentLength(bytes.part(field.value))
    case 17 where name.equals("transfer-encoding"):
      try readTransferEncoding(bytes.part(field.value))
    case 8... where name.starts(with: "if-"): marks.insert(.conditional)
    default: break
    }
  }

  /// Checks the head as a whole.
  func checkWhole() throws(HTTPError) {
    guard line.minorVersion == 0 || marks.contains(.host) else {
      throw HTTPError(400, "The request has no Host field.")
    }
    guard !isChunked || contentLength == nil else {
      throw HTTPError(400, "The request has both Content-Length and Transfer-Encoding.")
    }
    guard !isChunked || line.minorVersion >= 1 else {
      throw HTTPError(400, "HTTP/1.0 has no Transfer-Encoding.")
    }
  }

  private mutating func readSixLetters(
    _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws(HTTPError) {
    if name.equals("cookie") {
      marks.insert(.cookie)
    } else if name.equals("origin") {
      marks.insert(.origin)
    } else if name.equals("pragma") {
      marks.insert(.cacheControl)
    } else if name.equals("expect") {
      guard value.equals("100-continue") else {
        throw HTTPError(417, "The request's expectation is not supported.")
      }
      expects = true
    }
  }

  /// Reads the only Host, which must not begin a path or name a user (RFC 9112 §3.2).
  private mutating func readHost(
    _ bytes: UnsafeRawBufferPointer, _ value: Range<Int>
  ) throws(HTTPError) {
    guard !marks.contains(.host) else { throw HTTPError(400, "The request has two Host fields.") }
    for byte in bytes.part(value) where !Self.isHostByte(byte) {
      throw HTTPError(400, "The request's Host is not valid.")
    }
    marks.insert(.host)
    host = Place(value)
  }

  private static func isHostByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0...0x20, 0x22, 0x23, 0x2C, 0x2F, 0x3C, 0x3E, 0x3F, 0x40, 0x5C, 0x5E, 0x60: false
    case 0x7B...0x7D, 0x7F...: false
    default: true
    }
  }

  /// Reads the only Range. Two fields would form one invalid value (RFC 9110 §5.3), and programs
  /// would differ in which of them counts.
  private mutating func readRange(_ value: Range<Int>) throws(HTTPError) {
    guard !marks.contains(.range) else { throw HTTPError(400, "The request has two Range fields.") }
    marks.insert(.range)
    range = Place(value)
  }

  private mutating func readConnection(_ value: UnsafeRawBufferPointer) {
    value.forEachElement { option in
      if option.equals("close") {
        closes = true
      } else if option.equals("keep-alive") {
        asksToKeepAlive = true
      } else {
        marks.insert(.connectionNominates)
      }
    }
  }

  /// Reads one number; a list of equal ones may be rejected (RFC 9112 §6.3).
  private mutating func readContentLength(_ value: UnsafeRawBufferPointer) throws(HTTPError) {
    guard contentLength == nil, let length = value.decimal else {
      throw HTTPError(400, "The request's Content-Length is not one number.")
    }
    contentLength = length
  }

  private mutating func readTransferEncoding(_ value: UnsafeRawBufferPointer) throws(HTTPError) {
    if value.equals("chunked"), !isChunked {
      isChunked = true
      return
    }
    // With another coding after it, or twice, the end of the body is unknown (RFC 9112 §6.3).
    var endsInChunked = false
    var isChunkedTwice = isChunked
    value.forEachElement { coding in
      isChunkedTwice = isChunkedTwice || endsInChunked
      endsInChunked = coding.equals("chunked")
    }
    guard endsInChunked, !isChunkedTwice, value.first != UInt8(ascii: ","),
      value.last != UInt8(ascii: ","), value.contains(UInt8(ascii: ","))
    else { throw HTTPError(400, "The Transfer-Encoding does not end in a single chunked coding.") }
    throw HTTPError(501, "The only supported transfer coding is chunked.")
  }
}

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
