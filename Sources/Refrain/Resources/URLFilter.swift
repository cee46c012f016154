// SPDX-License-Identifier: MIT
package import Foundation
import RefrainLocks

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

/// The names of hosts to which public documents and redirects of other hosts have referred. A public
/// name may lead to a private address. May be used from any thread.
package final class ReferredHosts: Sendable {
  private struct State {
    var hosts: Set<String> = []
    /// Whether there were too many: all hosts count as referred to.
    var isFull = false
  }

  private static let capacity = 65_536

  private let state = Mutex(State())

  package init() {}

  func insert(_ url: URL, from referrer: URL) {
    guard let host = WebOrigin(url)?.host, host != WebOrigin(referrer)?.host else { return }
    state.withLock { state in
      guard !state.isFull else { return }
      state.hosts.insert(host)
      if state.hosts.count > Self.capacity { state = State(isFull: true) }
    }
  }

  func contains(_ url: URL) -> Bool {
    state.withLock { state in
      if state.hosts.isEmpty { return state.isFull }
      return WebOrigin(url).map { state.hosts.contains($0.host) } ?? true
    }
  }
}
