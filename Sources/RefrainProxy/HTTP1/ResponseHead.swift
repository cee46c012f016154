// SPDX-License-Identifier: MIT
import NIOCore
package import Refrain

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

    /// - Parameter length: nil if it is not known yet.
    init(length: Int64?, status: Int, isHEAD: Bool) {
      switch status {
      case 204, 304: self = .none
      case _ where isHEAD: self = .omitted(length)
      default: self = length.map { .length($0) } ?? .open
      }
    }
  }

  var status: Int
  var fields = HeaderFields()
  var body = Body.none
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

/// The reason phrases of statuses (RFC 9110 §15). Clients ignore them.
enum StatusPhrase {
  static func of(_ status: Int) -> String {
    switch status {
    case 102: "Processing"
    case 103: "Early Hints"
    case 200: "OK"
    case 204: "No Content"
    case 206: "Partial Content"
    case 301: "Moved Permanently"
    case 302: "Found"
    case 304: "Not Modified"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 408: "Request Timeout"
    case 409: "Conflict"
    case 410: "Gone"
    case 412: "Precondition Failed"
    case 413: "Content Too Large"
    case 414: "URI Too Long"
    case 415: "Unsupported Media Type"
    case 416: "Range Not Satisfiable"
    case 417: "Expectation Failed"
    case 421: "Misdirected Request"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    case 505: "HTTP Version Not Supported"
    case 508: "Loop Detected"
    case ..<200: "Interim"
    case 200..<300: "Success"
    case 300..<400: "Redirection"
    case 400..<500: "Client Error"
    default: "Server Error"
    }
  }
}

/// An error response: a status, and one sentence for people.
package struct HTTPError: Error, Sendable, Hashable {
  package var status: Int
  package var reason: String
  /// The value of `Retry-After`, in seconds; nil: unknown.
  package var retryAfter: Int64?
  /// The value of `Allow` of a 405 (RFC 9110 §15.5.6); nil: the methods that the proxy serves.
  package var allow: String?

  package init(
    _ status: Int, _ reason: String, retryAfter: Int64? = nil, allow: String? = nil
  ) {
    (self.status, self.reason) = (status, reason)
    (self.retryAfter, self.allow) = (retryAfter, allow)
  }

  /// A request sent by this proxy came back to it (RFC 5842 §7.2).
  static let loop = HTTPError(508, "The request loops: the origin is this proxy.")

  /// The error response for an error of the cache.
  package init(_ error: MediaCacheError) {
    let status =
      switch error.code {
      case .badURL: 400
      case .unreachable where error.isForLackOfDescriptors: 503
      case .unreachable: error.isTimeout ? 504 : 502
      case .offline: 504
      case .closed: 503
      case .storage, .inUse: 503
      case .redirect where error.status == nil: 403
      default: 502
      }
    self.init(status, error.description)
  }
}
