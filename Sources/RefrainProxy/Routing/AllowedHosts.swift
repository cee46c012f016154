// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// The hosts that may be requested: `example.com` is that host only, `*.example.com` all below it,
/// and a port may follow.
struct AllowedHosts: Sendable {
  private struct Pattern: Sendable {
    /// Includes the dot of a wildcard: `.example.com`.
    var host: String
    var isWildcard: Bool
    var port: Int?
  }

  private let patterns: [Pattern]

  /// - Parameter patterns: empty for all hosts.
  /// - Throws: `.invalidConfiguration` for an invalid pattern.
  init(_ patterns: [String]) throws(CacheProxyError) {
    var read: [Pattern] = []
    for text in patterns {
      let isWildcard = text.hasPrefix("*.")
      guard let authority = Authority(isWildcard ? text.dropFirst(2) : text[...]) else {
        throw CacheProxyError(
          .invalidConfiguration, "\(String(reflecting: text.prefix(100))) is not a valid host.",
          remedy: "Write example.com, *.example.com or example.com:8080.")
      }
      let host = authority.plainHost
      // An address has no names below it.
      guard !isWildcard || !Self.isAddress(host) else {
        throw CacheProxyError(
          .invalidConfiguration,
          "\(String(reflecting: text.prefix(100))): an IP address has no subdomains.",
          remedy: "Name each address.")
      }
      read.append(
        Pattern(
          host: isWildcard ? "." + host : host, isWildcard: isWildcard, port: authority.port))
    }
    self.patterns = read
  }

  /// Whether no host is named, and all are allowed.
  var isEmpty: Bool { patterns.isEmpty }

  /// Whether the URL's host may be requested. Also checked for an origin's redirects.
  func allows(_ url: URL) -> Bool {
    if patterns.isEmpty { return true }
    guard let origin = WebOrigin(url) else { return false }
    return patterns.contains { pattern in
      guard pattern.port == nil || pattern.port == origin.port else { return false }
      return pattern.isWildcard
        ? origin.host.hasSuffix(pattern.host) : origin.host == pattern.host
    }
  }

  // MARK: Filters

  static let remedy = "Allow the host (--allow-host) to fetch from it."

  /// - Parameter elsePublicOnly: whether only public hosts are allowed if none are named.
  func filter(elsePublicOnly: Bool) -> URLFilter {
    guard isEmpty, elsePublicOnly else {
      return URLFilter(remedy: Self.remedy) { allows($0) }
    }
    return URLFilter(remedy: Self.remedy, checksAddresses: true) {
      !PrivateNetwork.contains($0)
    }
  }

  /// Returns a filter that allows what belongs to an origin, and the named hosts.
  func filter(besides scope: OriginScope?) -> URLFilter {
    URLFilter(remedy: Self.remedy) { url in
      scope?.contains(url) == true || !isEmpty && allows(url)
    }
  }

  private static func isAddress(_ host: String) -> Bool {
    host.hasPrefix("[")
      || host.utf8.last?.isDigit == true
        && host.utf8.allSatisfy {
          $0.isDigit || $0 == UInt8(ascii: ".")
        }
  }
}

/// The URLs that belong to the origin of a reverse proxy: those of its scheme, host and port, below
/// its path.
struct OriginScope: Sendable {
  private let origin: WebOrigin
  /// Without a trailing slash.
  private let path: String

  /// - Parameter url: `https://media.example.com[/prefix]`. Returns nil if it is not an http or
  ///   https URL.
  init?(_ url: URL) {
    guard let (origin, path) = Self.split(url) else { return nil }
    self.origin = origin
    var prefix = path
    while prefix.hasSuffix("/") { prefix.removeLast() }
    self.path = String(prefix)
  }

  /// Whether a URL is the origin's. A URL whose path could be resolved to another is not.
  func contains(_ url: URL) -> Bool {
    guard let (origin, path) = Self.split(url), origin == self.origin, path.hasPrefix(self.path),
      !URLSpelling.hasDotSegment(path: path)
    else { return false }
    let rest = path.dropFirst(self.path.count)
    return rest.isEmpty || rest.hasPrefix("/")
  }

  private static func split(_ url: URL) -> (WebOrigin, path: Substring)? {
    guard let parts = WebURL(url.absoluteString), let origin = WebOrigin(parts) else { return nil }
    return (origin, parts.requestTarget.prefix { $0 != "?" })
  }
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
  ///   - names: those that the user gave. Invalid ones are ignored, and loopback addresses are
  ///     recognized with the listening port only.
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

  /// Whether an authority is one of the names that the user gave, with any port: clients then know the
  /// origin's resources by it.
  func isPublic(_ authority: String) -> Bool {
    Authority(authority).map { names.contains($0.plainHost) } ?? false
  }

  private static func hosts(_ addresses: [String]) -> Set<String> {
    let mapped = addresses.compactMap { NetworkAddress(host: $0)?.mappedIPv4?.text }
    let bracketed = addresses.map { $0.contains(":") && !$0.hasPrefix("[") ? "[\($0)]" : $0 }
    return Set((bracketed + mapped).compactMap { Authority($0)?.plainHost })
  }
}
