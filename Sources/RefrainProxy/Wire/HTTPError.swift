// SPDX-License-Identifier: MIT

/// Why a request is not answered as it asks: a status, and one sentence for people.
struct HTTPError: Error, Sendable, Hashable {
  var status: Int
  var reason: String
  /// In seconds, what `Retry-After` says; nil: nothing is known of it.
  var retryAfter: Int64?

  init(_ status: Int, _ reason: String, retryAfter: Int64? = nil) {
    self.status = status
    self.reason = reason
    self.retryAfter = retryAfter
  }
}

extension HTTPError {
  /// A request that this proxy has sent came back to it (RFC 5842 §7.2).
  static let loop = HTTPError(508, "The request came round in a circle: the origin is this proxy.")
}
