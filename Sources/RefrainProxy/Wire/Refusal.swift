// SPDX-License-Identifier: MIT

/// Why a request is not answered as it asks: a status, and one sentence for people.
struct Refusal: Error, Sendable, Hashable {
  var status: Int
  var reason: String

  init(_ status: Int, _ reason: String) {
    self.status = status
    self.reason = reason
  }
}

extension Refusal {
  /// A request that this proxy has sent came back to it (RFC 5842 §7.2).
  static let loop = Refusal(508, "The request came round in a circle: the origin is this proxy.")
}
