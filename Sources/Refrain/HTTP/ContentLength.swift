// SPDX-License-Identifier: MIT

/// The Content-Length of a message (RFC 9110 §8.6). A pure value.
package enum ContentLength: Sendable, Hashable {
  case absent
  case bytes(Int64)
  /// 2^63−1 or more, which no resource has: the length is unknown.
  case beyondLimit
  /// No number, or several different ones.
  case invalid

  /// Reads all fields of the name. Repeated values, in several fields or as a list, must be equal
  /// (RFC 9112 §6.3).
  package init(_ headers: HeaderFields) {
    let members = headers.values(of: "Content-Length").flatMap {
      $0.split(separator: ",", omittingEmptySubsequences: false).map(\.trimmingOWS)
    }
    guard let first = members.first else {
      self = .absent
      return
    }
    let areNumbers = members.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy(\.isDigit) }
    guard areNumbers, Set(members.map { $0.drop { $0 == "0" } }).count == 1 else {
      self = .invalid
      return
    }
    self = Int64(digits: first).map { .bytes($0) } ?? .beyondLimit
  }
}

extension HeaderFields {
  /// The announced length of the body; nil if it is unknown. A transfer coding overrides
  /// Content-Length (RFC 9112 §6.3).
  package var bodyLength: Int64? {
    guard self["Transfer-Encoding"] == nil, case .bytes(let count) = ContentLength(self) else {
      return nil
    }
    return count
  }
}
