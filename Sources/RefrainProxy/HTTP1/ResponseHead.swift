// SPDX-License-Identifier: MIT
import NIOCore
package import Refrain

/// The head of a response to a client.
struct ResponseHead: Sendable {
  var status: Int
  var fields = HeaderFields()
  /// That of the body, or of the one that GET would have; nil if it is not known yet, and for statuses
  /// without a body. The client finds the end of the body by it, or by chunks, or by the end of the
  /// connection for HTTP/1.0 (RFC 9112 §6.3).
  var length: Int64?
  var hasBody = false
  /// Whether the body still comes from an origin: bytes that the client does not accept are better
  /// left there than fetched into the buffers of sockets.
  var isFetched = false

  /// Replaces what the buffer contains by the head in the form of HTTP/1.1, with the fields that
  /// describe the body's framing.
  ///
  /// - Parameter connection: the value of Connection; nil: there is none.
  func write(into buffer: inout ByteBuffer, isChunked: Bool, connection: String?) {
    buffer.clear()
    buffer.writeString("HTTP/1.1 \(status) \(phrase)\r\n")
    for field in fields.fields {
      buffer.writeString(field.name)
      buffer.writeStaticString(": ")
      buffer.writeString(field.value)
      buffer.writeStaticString("\r\n")
    }
    if let length {
      buffer.writeString("Content-Length: \(length)\r\n")
    } else if hasBody, isChunked {
      buffer.writeStaticString("Transfer-Encoding: chunked\r\n")
    }
    if let connection { buffer.writeString("Connection: \(connection)\r\n") }
    buffer.writeStaticString("\r\n")
  }

  /// The reason phrase (RFC 9110 §15). Clients ignore it.
  private var phrase: String {
    if let phrase = Self.phrases[status] { return phrase }
    return switch status {
    case ..<200: "Interim"
    case ..<300: "Success"
    case ..<400: "Redirection"
    default: "Error"
    }
  }

  private static let phrases = [
    102: "Processing", 103: "Early Hints", 200: "OK", 204: "No Content", 206: "Partial Content",
    301: "Moved Permanently", 302: "Found", 304: "Not Modified", 400: "Bad Request",
    401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
    408: "Request Timeout", 409: "Conflict", 410: "Gone", 412: "Precondition Failed",
    413: "Content Too Large", 414: "URI Too Long", 415: "Unsupported Media Type",
    416: "Range Not Satisfiable", 417: "Expectation Failed", 421: "Misdirected Request",
    429: "Too Many Requests", 431: "Request Header Fields Too Large", 500: "Internal Server Error",
    501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
    505: "HTTP Version Not Supported", 508: "Loop Detected",
  ]
}

extension ByteBuffer {
  /// Writes the digits of a number. A string of up to 15 is not allocated.
  mutating func writeDecimal(_ number: Int64) { writeString(String(number.magnitude)) }
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
