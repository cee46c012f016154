// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// The hosts that may be requested: `example.com` is that host only, `*.example.com` all below it,
/// and a port may follow.
struct AllowedHosts: Sendable {
  private let patterns: [HostPattern]

  /// - Parameter patterns: empty for all hosts.
  /// - Throws: `.invalidConfiguration` for an invalid pattern.
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

  /// Whether no host is named, and all are allowed.
  var isEmpty: Bool { patterns.isEmpty }

  /// Whether the URL's host may be requested.
  func allows(_ url: URL) -> Bool {
    if patterns.isEmpty { return true }
    guard let origin = WebOrigin(url) else { return false }
    return patterns.contains { $0.matches(host: origin.host, port: origin.port) }
  }

  static let remedy = "Allow the host (--allow-host) to fetch from it."
}

/// Checks that a request is meant for this proxy. A web page whose own name was made to point here
/// is detected by that name in Host (DNS rebinding). The port must be the proxy's own, except behind
/// a name that the user gave: a balancer passes on the port at which clients reached it.
struct HostCheck: Sendable {
  /// Those that the user gave, which are recognized with any port.
  private let names: Set<String>
  /// Those that are recognized with the listening port only, as are the addresses.
  private let localNames: Set<String>

  /// - Parameters:
  ///   - names: those that the user gave. Loopback addresses among them need the listening port, too.
  ///   - machine: the name of this machine besides `localhost`.
  init(names: [String], machine: String) {
    let given = Set(names.compactMap { Authority($0)?.plainHost })
    self.names = given.filter { !NetworkAddress.isLoopback(host: $0) }
    localNames = given.subtracting(self.names).union(Self.hosts(["localhost", machine]))
  }

  /// - Parameters:
  ///   - value: the value of Host, or the authority of a target in absolute form. Its port must be the
  ///     one that the client connected to, except behind a given name; without one it is 80.
  ///   - addresses: numeric, with or without brackets. An IPv4 address in its IPv6 form stands for both
  ///     forms.
  ///   - port: the listening port.
  func isOurs(_ value: some StringProtocol, at addresses: [String], port: Int) -> Bool {
    guard let authority = Authority(value) else { return false }
    let host = authority.plainHost
    if names.contains(host) { return true }
    guard (authority.port ?? 80) == port else { return false }
    return localNames.contains(host) || Self.hosts(addresses).contains(host)
  }

  /// Whether an authority is one of the names that the user gave, with any port.
  func isPublic(_ authority: String) -> Bool {
    Authority(authority).map { names.contains($0.plainHost) } ?? false
  }

  private static func hosts(_ addresses: [String]) -> Set<String> {
    let mapped = addresses.compactMap { NetworkAddress(host: $0)?.mappedIPv4?.text }
    let bracketed = addresses.map { $0.contains(":") && !$0.hasPrefix("[") ? "[\($0)]" : $0 }
    return Set((bracketed + mapped).compactMap { Authority($0)?.plainHost })
  }
}
