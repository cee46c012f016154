// SPDX-License-Identifier: MIT

/// The request methods that are relayed (RFC 9110 §9).
public enum RelayedMethods: Sendable, Hashable {
  /// GET and HEAD only; with an `origin`, OPTIONS as well, which is safe.
  case none
  /// These methods, in capitals as in HTTP.
  case only(Set<String>)
  /// All but TRACE and CONNECT.
  case all

  func contain(_ method: String) -> Bool {
    switch self {
    case .none: false
    case .only(let names): names.contains(method)
    case .all: true
    }
  }
}
