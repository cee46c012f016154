// SPDX-License-Identifier: MIT
import Foundation
internal import NIOCore
internal import Refrain

/// Parses requests of HTTP/1.1 and HTTP/1.0 from a connection's bytes (RFC 9112), strictly: bytes
/// that another program might read differently are refused, not repaired. Examines each byte of a
/// head twice, however the bytes arrive.
struct RequestParser: Sendable {
  struct Limits: Sendable {
    /// A longer head is refused (431).
    var headBytes = 32 * 1024
    /// A longer one is refused (414).
    var targetBytes = 16 * 1024
    /// More are refused (431).
    var fields = 128
    /// Empty lines before a request, which are ignored (RFC 9112 §2.2).
    var emptyLines = 4
  }

  enum Event: Sendable {
    case head(RequestHead)
    /// Some of the body, without its framing, never empty; nil at the end of a body.
    case body(ByteBuffer?)
  }

  private enum Step: Sendable {
    case head
    case body(remaining: Int64)
    case end
  }

  private let limits: Limits
  private var step = Step.head
  /// The head whose first line has been read.
  private var reading: RequestHead?
  /// The start of the current line, and the offset up to which no line feed was found: in bytes
  /// from the buffer's first readable one.
  private var lineStart = 0
  private var searched = 0
  private var emptyLineCount = 0
  private var fieldCount = 0

  init(limits: Limits = Limits()) {
    self.limits = limits
  }

  /// Whether no byte of a next request has been seen: the connection is idle.
  var isAtStart: Bool {
    guard case .head = step else { return false }
    return searched == 0
  }

  /// Returns the next event, and removes its bytes from the buffer; nil if more are needed: call
  /// again with the same buffer, grown. After a refusal the start of the next request is unknown:
  /// do not call it again.
  mutating func next(_ buffer: inout ByteBuffer) throws(HTTPError) -> Event? {
    switch step {
    case .head:
      try skipEmptyLines(&buffer)
      if reading == nil, try !readRequestLine(of: buffer) { return nil }
      guard try readFields(of: buffer), var head = reading.take() else { return nil }
      head.bytes = takeLines(&buffer)
      emptyLineCount = 0
      if head.hasBody, let length = head.contentLength { step = .body(remaining: length) }
      return .head(head)
    case .body(let remaining):
      let most = Int(clamping: min(remaining, Int64(buffer.readableBytes)))
      guard most > 0, let bytes = buffer.readSlice(length: most) else { return nil }
      let rest = remaining - Int64(most)
      step = rest > 0 ? .body(remaining: rest) : .end
      return .body(bytes)
    case .end:
      step = .head
      return .body(nil)
    }
  }

  private mutating func skipEmptyLines(_ buffer: inout ByteBuffer) throws(HTTPError) {
    while lineStart == 0, buffer.getInteger(at: buffer.readerIndex) == UInt16(0x0D0A) {
      lineStart = 2
      _ = takeLines(&buffer)
      emptyLineCount += 1
      guard emptyLineCount <= limits.emptyLines else { throw HTTPError.malformed }
    }
  }

  /// Returns false if the end of the line has not arrived, as the function below.
  private mutating func readRequestLine(of buffer: ByteBuffer) throws(HTTPError) -> Bool {
    try buffer.withUnsafeReadableBytes { (bytes) throws(HTTPError) -> Bool in
      if let first = bytes.first, !first.isTokenCharacter {
        // Perhaps the beginning of an empty line. A client that speaks TLS is refused at once.
        guard first == UInt8(ascii: "\r"), bytes.count == 1 else { throw HTTPError.malformed }
      }
      // Room for a method and the version.
      let limit = min(limits.targetBytes + 64, limits.headBytes)
      guard let line = try nextLine(bytes, limit: limit, 414, "The request line is too long.")
      else { return false }
      reading = try RequestHead(bytes.part(line), targetLimit: limits.targetBytes)
      return true
    }
  }

  /// Reads the fields of a head, and the empty line.
  private mutating func readFields(of buffer: ByteBuffer) throws(HTTPError) -> Bool {
    let limit = limits.headBytes
    return try buffer.withUnsafeReadableBytes { (bytes) throws(HTTPError) -> Bool in
      while let line = try nextLine(
        bytes, limit: limit, 431, "The request's head is longer than \(limit) bytes.")
      {
        if line.isEmpty {
          try reading?.check()
          return true
        }
        fieldCount += 1
        guard fieldCount <= limits.fields else {
          throw HTTPError(431, "The request has more than \(limits.fields) header fields.")
        }
        let field = try bytes.field(at: line)
        try reading?.note(field.name, field.value, in: bytes)
      }
      return false
    }
  }

  /// Returns the next line's place, without its CRLF; refuses one not ended before `limit`.
  private mutating func nextLine(
    _ bytes: UnsafeRawBufferPointer, limit: Int, _ status: Int, _ reason: @autoclosure () -> String
  ) throws(HTTPError) -> Range<Int>? {
    let feed = bytes.lineFeed(from: searched)
    // The end of a line that has not arrived follows all bytes received so far.
    guard feed ?? bytes.count < limit else { throw HTTPError(status, reason()) }
    guard let feed else {
      searched = bytes.count
      return nil
    }
    // Each line ends in CR LF.
    guard feed > lineStart, bytes[feed - 1] == UInt8(ascii: "\r") else { throw HTTPError.malformed }
    defer { (lineStart, searched) = (feed + 1, feed + 1) }
    return lineStart..<feed - 1
  }

  private mutating func takeLines(_ buffer: inout ByteBuffer) -> ByteBuffer {
    defer { (lineStart, searched, fieldCount) = (0, 0, 0) }
    return buffer.readSlice(length: lineStart) ?? ByteBuffer()
  }
}

// MARK: - The bytes of lines

extension UnsafeRawBufferPointer {
  func lineFeed(from offset: Int) -> Int? {
    guard let base = baseAddress, offset < count,
      let found = memchr(base + offset, 0x0A, count - offset)
    else { return nil }
    return UnsafeRawPointer(found) - base
  }

  /// Reads `field-name ":" OWS field-value OWS` (RFC 9112 §5), strictly. The line has no CRLF.
  @inline(__always)
  func field(at line: Range<Int>) throws(HTTPError) -> (name: Range<Int>, value: Range<Int>) {
    var colon = line.lowerBound
    while colon < line.upperBound, self[colon].isTokenCharacter { colon += 1 }
    guard colon > line.lowerBound, colon < line.upperBound, self[colon] == UInt8(ascii: ":")
    else { throw HTTPError.malformed }
    let value = trimmed(colon + 1..<line.upperBound)
    guard part(value).allSatisfy(\.isValueByte) else { throw HTTPError.malformed }
    return (line.lowerBound..<colon, value)
  }

  /// Ignores case. Give letters in lower case, digits and `-`.
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

  /// Clamps the range.
  func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: self[range.clamped(to: 0..<count)])
  }

  /// Without optional white space (RFC 9110 §5.6.3).
  var trimmed: UnsafeRawBufferPointer { part(trimmed(0..<count)) }

  private func trimmed(_ range: Range<Int>) -> Range<Int> {
    var (from, to) = (range.lowerBound, range.upperBound)
    while from < to, self[from].isOWS { from += 1 }
    while from < to, self[to - 1].isOWS { to -= 1 }
    return from..<to
  }

  /// Invalid UTF-8 becomes U+FFFD.
  var text: String { String(decoding: self, as: UTF8.self) }
}
