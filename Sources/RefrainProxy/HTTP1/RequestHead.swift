// SPDX-License-Identifier: MIT
internal import NIOCore
internal import Refrain

/// The head of a request, validated as its lines are read, one after the other.
///
/// Nothing is copied out of the bytes before it is needed: most requests need only the marks, the
/// target, and perhaps Range.
struct RequestHead: Sendable {
  /// From the method to the empty line.
  var bytes = ByteBuffer()
  var line = RequestLine()
  private(set) var marks: Marks = []
  private var host: Place?
  private(set) var range: Place?
  private var fieldCount = 0
  private var contentLength: Int64?
  private var isChunked = false
  private var closes = false
  private var asksToKeepAlive = false
  private var expects = false

  /// 0 or 1; a later HTTP/1.x counts as 1 (RFC 9110 §2.5).
  var minorVersion: Int { line.minorVersion }

  /// How the end of the body is found.
  var framing: BodyFraming {
    isChunked ? .chunked : contentLength.map { .length($0) } ?? .none
  }

  /// Whether another request may follow, by the version and Connection (RFC 9112 §9.3).
  var keepsAlive: Bool { !closes && (minorVersion >= 1 || asksToKeepAlive) }

  /// Whether the client waits for 100. A client of HTTP/1.0 does not know it, and without a body
  /// there is nothing to wait for (RFC 9110 §10.1.1).
  var expectsContinue: Bool {
    expects && minorVersion >= 1 && framing != .none && framing != .length(0)
  }

  var isGET: Bool { isMethod("GET") }
  var isHEAD: Bool { isMethod("HEAD") }

  var method: String { withBytes(at: line.method, \.text) }

  /// The target as received (RFC 9112 §3.2).
  var target: String { withBytes(at: line.target, \.text) }

  func withTarget<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try withBytes(at: line.target, body)
  }

  /// Calls `body` with the value of Host, without surrounding white space; nil if there is none.
  func withHost<R>(_ body: (UnsafeRawBufferPointer?) throws -> R) rethrows -> R {
    try host.map { try withBytes(at: $0, body) } ?? body(nil)
  }

  /// Calls `body` with the value of Range, likewise.
  func withRange<R>(_ body: (UnsafeRawBufferPointer?) throws -> R) rethrows -> R {
    try range.map { try withBytes(at: $0, body) } ?? body(nil)
  }

  /// All fields, in order.
  var fields: HeaderFields {
    bytes.withUnsafeReadableBytes { bytes in
      var fields = HeaderFields()
      var start = (bytes.lineFeed(from: 0) ?? bytes.count) + 1
      while let feed = bytes.lineFeed(from: start), feed > start + 1 {
        let line = bytes.part(start..<feed - 1)
        if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
          fields.append(
            line.part(0..<colon).text, line.part(colon + 1..<line.count).trimmed.text)
        }
        start = feed + 1
      }
      return fields
    }
  }

  /// Compares the method, with regard to case (RFC 9110 §9.1).
  private func isMethod(_ name: StaticString) -> Bool {
    withBytes(at: line.method) { method in
      method.count == name.utf8CodeUnitCount
        && method.elementsEqual(
          UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }
  }

  private func withBytes<R>(
    at place: Place, _ body: (UnsafeRawBufferPointer) throws -> R
  ) rethrows -> R {
    try bytes.withUnsafeReadableBytes { try body($0.part(place.range)) }
  }
}

// MARK: - Reading

extension RequestHead {
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
    case 4 where name.equals("host"): try readHost(bytes, field.value)
    case 5 where name.equals("range"): try readRange(field.value)
    case 6: try readSixLetters(name, bytes.part(field.value))
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

  /// Checks the head as a whole, once all its lines are read.
  func checkWhole() throws(HTTPError) {
    guard minorVersion == 0 || host != nil else {
      throw HTTPError(400, "The request has no Host field.")
    }
    guard !isChunked || contentLength == nil else {
      throw HTTPError(400, "The request has both Content-Length and Transfer-Encoding.")
    }
    guard !isChunked || minorVersion >= 1 else {
      throw HTTPError(400, "HTTP/1.0 has no Transfer-Encoding.")
    }
  }

  private mutating func readSixLetters(
    _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws(HTTPError) {
    if name.equals("cookie") {
      marks.insert(.cookie)
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
    guard host == nil else { throw HTTPError(400, "The request has two Host fields.") }
    for byte in bytes.part(value) where !Self.isHostByte(byte) {
      throw HTTPError(400, "The request's Host is not valid.")
    }
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
    guard range == nil else { throw HTTPError(400, "The request has two Range fields.") }
    range = Place(value)
  }

  private mutating func readConnection(_ value: UnsafeRawBufferPointer) {
    value.forEachElement { option in
      if option.equals("close") {
        closes = true
      } else if option.equals("keep-alive") {
        asksToKeepAlive = true
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

/// The place of a part of a head, in bytes from the head's start.
struct Place: Sendable, Hashable {
  private var offset: UInt32
  private var count: UInt32

  init(_ range: Range<Int>) {
    offset = UInt32(clamping: range.lowerBound)
    count = UInt32(clamping: range.count)
  }

  var range: Range<Int> { Int(offset)..<Int(offset) + Int(count) }

  static let none = Place(0..<0)
}

/// How the end of a request's body is found (RFC 9112 §6.3).
enum BodyFraming: Sendable, Hashable {
  /// There is no body.
  case none
  /// A body of this many bytes.
  case length(Int64)
  case chunked
}

/// The presence of fields that decide how a request is handled.
struct Marks: OptionSet, Sendable, Hashable {
  var rawValue: UInt8

  /// Any field that begins with `If-`.
  static let conditional = Marks(rawValue: 1 << 0)
  /// Cache-Control or Pragma.
  static let cacheControl = Marks(rawValue: 1 << 1)
  static let authorization = Marks(rawValue: 1 << 2)
  static let cookie = Marks(rawValue: 1 << 3)
}

/// A request on its way from the connection to the task that responds to it.
struct ClientRequest: Sendable {
  var head: RequestHead
  /// The client's numeric address.
  var client: String
  /// The local address that received the request.
  var localAddress: String?
  var started: NIODeadline
  /// The error with which the request is refused for a limit of the client's; nil: it is served.
  var refusal: HTTPError?
}

/// The client closed the connection, or was silent for too long.
package struct ClientDisconnected: Error {}
