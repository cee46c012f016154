// SPDX-License-Identifier: MIT
import NIOCore
package import Refrain

struct ResponseHead: Sendable {
  var status: Int
  var fields = HeaderFields()
  /// The length of the body, or of the one that GET would have; nil for statuses without a body,
  /// and if it is unknown (RFC 9112 §6.3).
  var length: Int64?
  var hasBody = false

  func write(into buffer: inout ByteBuffer, isChunked: Bool = false, closes: Bool = false) {
    buffer.clear()
    // Clients ignore the phrase (RFC 9110 §15).
    buffer.writeString("HTTP/1.1 \(status) \(status < 400 ? "OK" : "Error")\r\n")
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
    if closes { buffer.writeStaticString("Connection: close\r\n") }
    buffer.writeStaticString("\r\n")
  }
}

/// An error response: a status, and one sentence for people.
package struct HTTPError: Error, Sendable, Hashable {
  package var status: Int
  package var reason: String
  /// In seconds; nil: unknown.
  package var retryAfter: Int64?
  /// The value of `Allow` of a 405 (RFC 9110 §15.5.6).
  package var allow: String?

  package init(
    _ status: Int, _ reason: String, retryAfter: Int64? = nil, allow: String? = nil
  ) {
    (self.status, self.reason) = (status, reason)
    (self.retryAfter, self.allow) = (retryAfter, allow)
  }

  /// A request sent by this proxy came back to it (RFC 5842 §7.2).
  static let loop = HTTPError(508, "The request loops: the origin is this proxy.")

  package init(_ error: MediaCacheError) {
    let status =
      switch error.code {
      case .badURL: 400
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
