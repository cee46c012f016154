// SPDX-License-Identifier: MIT
package import Foundation

/// Decides which URLs may be requested. Filters are equal only if identical.
package final class URLFilter: Sendable, Hashable {
  private let allowed: @Sendable (URL) -> Bool
  private let referred: ReferredHosts?
  private let remedy: String

  /// - Parameters:
  ///   - remedy: what to do about a refused URL.
  ///   - referred: the hosts whose addresses must be public; nil: none.
  ///   - allowed: whether a URL may be requested.
  package init(
    remedy: String = "Allow the host to fetch from it.", referred: ReferredHosts? = nil,
    allows allowed: @escaping @Sendable (URL) -> Bool
  ) {
    self.remedy = remedy
    self.referred = referred
    self.allowed = allowed
  }

  /// Returns a filter for what a public URL refers to: it allows no private network.
  package static func publicOnly() -> URLFilter {
    URLFilter(
      remedy: "What a public URL names may not be in a private network. Fetch this by its own URL.",
      referred: ReferredHosts(), allows: { !PrivateNetwork.contains($0) })
  }

  package func allows(_ url: URL) -> Bool { allowed(url) }

  /// Records that a document or a redirect refers to a URL.
  package func noteReference(to url: URL, from referrer: URL) {
    referred?.insert(url, from: referrer)
  }

  /// Whether the address to which the URL's host leads must be public: a public document or redirect
  /// of another host refers to it. A URL that a person chose may lead anywhere.
  package func requiresPublicAddress(of url: URL) -> Bool {
    referred?.contains(url) ?? false
  }

  /// Returns the error for a refused URL.
  ///
  /// - Parameters:
  ///   - reason: nil: the URL is not allowed.
  ///   - status: of the redirect that leads there.
  func refusal(of url: URL, because reason: String? = nil, status: Int? = nil) -> MediaCacheError {
    MediaCacheError(
      .redirect, reason ?? "Requests to \(url.host() ?? "that host") are not allowed.",
      remedy: remedy, status: status)
  }

  package static func == (left: URLFilter, right: URLFilter) -> Bool { left === right }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
