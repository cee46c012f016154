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
