// SPDX-License-Identifier: MIT
package import Refrain

/// An error response: a status, and one sentence for people.
package struct HTTPError: Error, Sendable, Hashable {
  package var status: Int
  package var reason: String
  /// The value of `Retry-After`, in seconds; nil: unknown.
  package var retryAfter: Int64?

  package init(_ status: Int, _ reason: String, retryAfter: Int64? = nil) {
    self.status = status
    self.reason = reason
    self.retryAfter = retryAfter
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
