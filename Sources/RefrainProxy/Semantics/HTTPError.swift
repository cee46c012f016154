// SPDX-License-Identifier: MIT

/// An error response: a status, and one sentence for people.
struct HTTPError: Error, Sendable, Hashable {
  var status: Int
  var reason: String
  /// The value of `Retry-After`, in seconds; nil: unknown.
  var retryAfter: Int64?

  init(_ status: Int, _ reason: String, retryAfter: Int64? = nil) {
    self.status = status
    self.reason = reason
    self.retryAfter = retryAfter
  }
}

extension HTTPError {
  /// A request sent by this proxy came back to it (RFC 5842 §7.2).
  static let loop = HTTPError(508, "The request loops: the origin is this proxy.")
}
