// SPDX-License-Identifier: MIT
package import Foundation

/// The origin of an http or https URL (RFC 6454 §4): scheme, host and port, in one form for all
/// spellings.
package struct WebOrigin: Sendable, Hashable {
  /// `http` or `https`.
  package var scheme: String
  /// In lower case, without a trailing dot; an IPv6 address in its brackets.
  package var host: String
  /// The scheme's own one if the URL states none.
  package var port: Int

  /// - Returns: nil for other URLs, and those with a host that resolvers read differently.
  package init?(_ url: URL) {
    guard let parts = WebURL(url.absoluteString) else { return nil }
    self.init(parts)
  }

  package init?(_ parts: WebURL) {
    guard let authority = Authority(parts.authority) else { return nil }
    scheme = parts.scheme
    host = authority.plainHost
    port = authority.port ?? (parts.scheme == "https" ? 443 : 80)
  }
}
