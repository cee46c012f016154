// SPDX-License-Identifier: MIT
import Foundation
package import Refrain

/// How a proxy responds (`CacheProxy.Configuration`), and what it relays besides GET and HEAD.
struct ServingRules: Sendable {
  /// Nil if there are many.
  var origin: URL?
  /// A named one may write too; `*` may only read.
  var allowedWebOrigin: String?
  var relayedMethods: RelayedMethods
  var handlers: [any ProxyHandler]
  var servesOnePlay: Bool
  var fetchesWhole: Bool
  var redirectsPages: Bool
  var log: (@Sendable (ServedRequest) -> Void)?
  var logsClientFields: Bool

  private var relays: Bool { origin != nil || relayedMethods != .none }

  /// The value of Allow (RFC 9110 §10.2.1).
  var allow: String {
    let own = relays ? ["GET", "HEAD", "OPTIONS"] : ["GET", "HEAD"]
    let named =
      switch relayedMethods {
      case .none: [String]()
      case .all: ["POST", "PUT", "PATCH", "DELETE"]
      case .only(let names): names.subtracting(own).sorted()
      }
    return (own + named).joined(separator: ", ")
  }

  func check(_ method: String, _ fields: HeaderFields) throws(HTTPError) {
    // Safe (RFC 9110 §9.2.1), and sent before a request that a page wants to send.
    if method == "OPTIONS", relays { return }
    guard relayedMethods.contain(method) else {
      throw HTTPError(
        405,
        "This proxy does not relay \(method). 'relayedMethods' enables it, as 'serve --methods' does.",
        allow: allow)
    }
    try checkSite(of: method, fields)
  }

  func checkSite(of method: String, _ fields: HeaderFields) throws(HTTPError) {
    if fields.isFromAnotherSite(allowing: allowedWebOrigin) {
      throw HTTPError(403, "A page of another site may not send a \(method) through this proxy.")
    }
  }
}

extension HeaderFields {
  /// Whether a browser sends the request for a page of another site than `allowedWebOrigin`, with
  /// all the rights of the proxy at the origin. Other programs send neither field (Fetch Metadata
  /// §2.4, RFC 6454 §7).
  package func isFromAnotherSite(allowing allowedWebOrigin: String? = nil) -> Bool {
    let origin = self["Origin"]?.trimmingOWS
    if let origin, allowedWebOrigin?.lowercased() == origin.lowercased() { return false }
    if let site = self["Sec-Fetch-Site"]?.trimmingOWS.lowercased() {
      return site != "same-origin" && site != "none"
    }
    guard let origin else { return false }
    guard let host = self["Host"], let slashes = origin.firstRange(of: "://") else { return true }
    return origin[slashes.upperBound...].lowercased() != host.lowercased()
  }
}

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
