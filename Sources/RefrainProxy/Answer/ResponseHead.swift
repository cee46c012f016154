// SPDX-License-Identifier: MIT
import NIOCore
import Refrain

/// The head of an answer to a client.
struct ResponseHead: Sendable {
  /// How the client can tell where the body ends (RFC 9112 §6.3).
  enum Body: Sendable, Hashable {
    /// None follows, and no length is named: 204, 304.
    case none
    /// None follows, of what would be so long (HEAD); nil: nobody knows.
    case omitted(Int64?)
    case length(Int64)
    /// Its end is not known yet: chunked, or to the end of the connection for HTTP/1.0.
    case open
  }

  var status: Int
  var fields = HTTPFields()
  var body: Body
  /// Its body still comes from an origin: what the client does not take is better left there than
  /// fetched into the buffers of sockets.
  var isFetched = false

  /// Writes it in the form of HTTP/1.1, with the fields that say how to read on.
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
  /// Writes a number that is not negative, without making a string of it.
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
