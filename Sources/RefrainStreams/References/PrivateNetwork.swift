// SPDX-License-Identifier: MIT
package import Foundation
package import Refrain

/// The hosts of private networks, by their names alone: addresses that are not globally reachable,
/// and names that public DNS does not have. A public name may still have a private address, which
/// shows when it is connected to (`OriginRequest.requiresPublicAddress`).
package enum PrivateNetwork {
  package static func contains(_ url: URL) -> Bool {
    // No request would be made for any other URL.
    WebOrigin(url).map { contains(host: $0.host) } ?? true
  }

  /// - Parameter host: in lower case, without a trailing dot; an IPv6 address in its brackets.
  package static func contains(host: String) -> Bool {
    if let address = NetworkAddress(host: host) { return address.isPrivate }
    // A name without a dot is one of the local network.
    guard !host.hasPrefix("["), let dot = host.lastIndex(of: ".") else { return true }
    // RFC 6761, RFC 6762, RFC 8375, RFC 9476; "internal" is reserved by ICANN.
    return ["localhost", "local", "internal", "arpa", "lan", "home", "corp", "test", "invalid"]
      .contains(host[host.index(after: dot)...])
  }
}

extension URLFilter {
  /// Returns a filter for what a public URL refers to: it allows no private network.
  package static func publicOnly() -> URLFilter {
    URLFilter(
      remedy: "What a public URL names may not be in a private network. Fetch this by its own URL.",
      checksAddresses: true, allows: { !PrivateNetwork.contains($0) })
  }
}
