// SPDX-License-Identifier: MIT
package import Foundation

/// The parts of an http or https URL, as they are spelled.
package struct WebURL {
  /// `http` or `https`.
  package var scheme: String
  /// Without user information.
  package var authority: String
  /// Path and query, without the fragment; may be empty, or begin with `?`.
  package var target: String

  package init?(_ text: String) {
    var reference = URIReference(text)
    guard let scheme = reference.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
      return nil
    }
    _ = reference.removeUserInfo()
    guard let authority = reference.authority else { return nil }
    self.scheme = scheme
    self.authority = authority
    target = reference.path + (reference.query.map { "?" + $0 } ?? "")
  }

  /// Path and query as a request sends them (RFC 9112 §3.2.1): as spelled, but never empty. A library
  /// that splits and rejoins a path may request another resource, which a DELETE would remove.
  package var requestTarget: String { target.hasPrefix("/") ? target : "/" + target }

  /// The target with scheme and host, as a proxy requires (RFC 9112 §3.2.2).
  var absoluteTarget: String { "\(scheme)://\(authority)\(requestTarget)" }
}

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

  /// Whether two URLs have one origin, which may receive the same secrets. False for URLs without
  /// any. Servers may distinguish a name with a trailing dot.
  static func isOne(of left: URL, _ right: URL) -> Bool {
    guard left.host()?.hasSuffix(".") == right.host()?.hasSuffix(".") else { return false }
    if let origin = WebOrigin(left) { return origin == WebOrigin(right) }
    // Resolvers may read the host or the port (`host:`, `127.1`) differently: only one spelling
    // certainly has one origin.
    guard let one = WebURL(left.absoluteString), let other = WebURL(right.absoluteString) else {
      return false
    }
    return one.scheme == other.scheme && one.authority == other.authority
  }

  package init?(_ parts: WebURL) {
    guard let authority = Authority(parts.authority) else { return nil }
    scheme = parts.scheme
    host = authority.plainHost
    port = authority.port ?? (parts.scheme == "https" ? 443 : 80)
  }
}
