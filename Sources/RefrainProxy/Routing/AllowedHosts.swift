// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// The hosts that may be requested: `example.com` is that host only, `*.example.com` all below it,
/// and a port may follow.
struct AllowedHosts: Sendable {
  private let patterns: [HostPattern]

  /// Throws `.invalidConfiguration` for an invalid pattern; no patterns allow all hosts.
  init(_ patterns: [String]) throws(CacheProxyError) {
    self.patterns = try patterns.map { (text) throws(CacheProxyError) in
      guard let pattern = HostPattern(text, allowsPort: true) else {
        throw CacheProxyError(
          .invalidConfiguration, "\(String(reflecting: text.prefix(100))) is not a valid host.",
          remedy: "Write example.com, *.example.com or example.com:8080; name each IP address.")
      }
      return pattern
    }
  }

  var isEmpty: Bool { patterns.isEmpty }

  func allows(_ url: URL) -> Bool {
    if patterns.isEmpty { return true }
    guard let origin = WebOrigin(url) else { return false }
    return patterns.contains { $0.matches(host: origin.host, port: origin.port) }
  }

  static let remedy = "Allow the host (--allow-host) to fetch from it."
}

/// Checks that a request is meant for this proxy. A web page whose own name was made to point here
/// is detected by that name in Host (DNS rebinding). The port must be the proxy's own, except
/// behind a name that the user gave: a balancer passes on the port at which clients reached it.
struct HostCheck: Sendable {
  /// Given by the user, and recognized with any port. Loopback addresses are not among them.
  private let names: Set<String>
  /// Recognized with the listening port only, as are the addresses.
  private let localNames: Set<String>

  init(names: [String], machine: String) {
    let given = Set(names.compactMap { Authority($0)?.plainHost })
    self.names = given.filter { !NetworkAddress.isLoopback(host: $0) }
    localNames = given.subtracting(self.names).union(Self.hosts(["localhost", machine]))
  }

  /// Without a port, `value` (of Host, or a target's authority) names port 80. An IPv4 address in
  /// its IPv6 form stands for both; brackets make no difference.
  func isOurs(_ value: some StringProtocol, at addresses: [String], port: Int) -> Bool {
    guard let authority = Authority(value) else { return false }
    let host = authority.plainHost
    if names.contains(host) { return true }
    guard (authority.port ?? 80) == port else { return false }
    return localNames.contains(host) || Self.hosts(addresses).contains(host)
  }

  private static func hosts(_ addresses: [String]) -> Set<String> {
    let mapped = addresses.compactMap { NetworkAddress(host: $0)?.mappedIPv4?.text }
    let bracketed = addresses.map { $0.contains(":") && !$0.hasPrefix("[") ? "[\($0)]" : $0 }
    return Set((bracketed + mapped).compactMap { Authority($0)?.plainHost })
  }
}
