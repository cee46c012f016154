// SPDX-License-Identifier: MIT
package import Foundation
import RefrainLocks

/// Decides which URLs may be requested. Filters are equal only if identical. May be used from any
/// thread.
package final class URLFilter: Sendable, Hashable {
  private static let mostHosts = 65_536

  package let allows: @Sendable (URL) -> Bool
  private let remedy: String
  private let checksAddresses: Bool
  /// The hosts to which public documents and redirects of other hosts have referred. A public name
  /// may lead to a private address.
  private let referred = Mutex(Set<String>())

  /// - Parameters:
  ///   - remedy: what to do about a refused URL.
  ///   - checksAddresses: whether the addresses of hosts that others refer to must be public.
  ///   - allows: whether a URL may be requested.
  package init(
    remedy: String = "Allow the host to fetch from it.", checksAddresses: Bool = false,
    allows: @escaping @Sendable (URL) -> Bool
  ) {
    (self.remedy, self.checksAddresses, self.allows) = (remedy, checksAddresses, allows)
  }

  /// Records that a document or a redirect refers to a URL.
  package func noteReference(to url: URL, from referrer: URL) {
    guard checksAddresses, let host = WebOrigin(url)?.host, host != WebOrigin(referrer)?.host
    else { return }
    referred.withLock { hosts in
      if hosts.count < Self.mostHosts { hosts.insert(host) }
    }
  }

  /// Whether the address to which the URL's host leads must be public: a public document or redirect
  /// of another host refers to it. A URL that a person chose may lead anywhere.
  package func requiresPublicAddress(of url: URL) -> Bool {
    guard checksAddresses else { return false }
    return referred.withLock { hosts in
      if hosts.isEmpty { return false }
      // Further hosts were not recorded.
      if hosts.count >= Self.mostHosts { return true }
      return WebOrigin(url).map { hosts.contains($0.host) } ?? true
    }
  }

  /// - Parameter status: of the redirect that leads there.
  /// - Throws: if the URL may not be requested.
  func check(_ url: URL, status: Int? = nil) throws(MediaCacheError) {
    guard !allows(url) else { return }
    throw refusal("Requests to \(url.host() ?? "that host") are not allowed.", status: status)
  }

  func refusal(_ reason: String, status: Int? = nil) -> MediaCacheError {
    MediaCacheError(.redirect, reason, remedy: remedy, status: status)
  }

  package static func == (left: URLFilter, right: URLFilter) -> Bool { left === right }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
