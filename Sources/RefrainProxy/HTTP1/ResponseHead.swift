// SPDX-License-Identifier: MIT
import NIOCore
import Refrain

/// The head of a response to a client.
struct ResponseHead: Sendable {
  /// How the client finds the end of the body (RFC 9112 §6.3).
  enum Body: Sendable, Hashable {
    /// No body and no length: 204, 304.
    case none
    /// No body, but the length that it would have (HEAD); nil: unknown.
    case omitted(Int64?)
    case length(Int64)
    /// Its end is not known yet: chunked, or up to the end of the connection for HTTP/1.0.
    case open
  }

  var status: Int
  var fields = HeaderFields()
  var body: Body
  /// Whether the body still comes from an origin: bytes that the client does not accept are better
  /// left there than fetched into the buffers of sockets.
  var isFetched = false
  /// Whether the time to it is counted: not for the operator's pages.
  var isMeasured = true

  /// Writes the head in the form of HTTP/1.1, with the fields that describe the body's framing.
  func write(into buffer: inout ByteBuffer, isChunked: Bool, closes: Bool) {
    Self.writeStatusLine(status, into: &buffer)
    for field in fields.fields {
      buffer.writeString(field.name)
      buffer.writeStaticString(": ")
      buffer.writeString(field.value)
      buffer.writeStaticString("\r\n")
    }
    switch body {
    case .length(let length), .omitted(let length?):
      buffer.writeStaticString("Content-Length: ")
      buffer.writeDecimal(length)
      buffer.writeStaticString("\r\n")
    case .open:
      if isChunked { buffer.writeStaticString("Transfer-Encoding: chunked\r\n") }
    case .none, .omitted(nil): break
    }
    if closes { buffer.writeStaticString("Connection: close\r\n") }
    buffer.writeStaticString("\r\n")
  }

  static func writeStatusLine(_ status: Int, into buffer: inout ByteBuffer) {
    buffer.writeStaticString("HTTP/1.1 ")
    buffer.writeDecimal(Int64(status))
    buffer.writeStaticString(" ")
    buffer.writeString(StatusPhrase.of(status))
    buffer.writeStaticString("\r\n")
  }
}

extension ByteBuffer {
  /// Writes a non-negative number without creating a string.
  mutating func writeDecimal(_ number: Int64) {
    var digits: (UInt64, UInt64, UInt64) = (0, 0, 0)
    withUnsafeMutableBytes(of: &digits) { digits in
      var rest = number.magnitude
      var index = digits.count
      repeat {
        index -= 1
        digits[index] = 0x30 + UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
      } while rest > 0
      _ = writeBytes(UnsafeRawBufferPointer(rebasing: digits[index...]))
    }
  }
}
