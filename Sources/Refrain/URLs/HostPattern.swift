// SPDX-License-Identifier: MIT
import Foundation

/// A host, or all hosts below one: `example.com`, `*.example.com`.
package struct HostPattern: Sendable, Hashable {
  /// Normalized; includes the dot of a wildcard: `.example.com`.
  private var host: String
  private var isWildcard: Bool

  /// - Returns: nil if the text is not a host, has a port, or is a wildcard below an IP address.
  package init?(_ text: String) {
    isWildcard = text.hasPrefix("*.")
    let name = isWildcard ? String(text.dropFirst(2)) : text
    guard !name.utf8.contains(where: { "/?#@*%\\".utf8.contains($0) }),
      let url = URL(text: "http://\(name)/"),
      let authority = URIReference(url.absoluteString).authority.flatMap({ Authority($0) }),
      authority.port == nil, !name.hasSuffix(":")
    else { return nil }
    guard !isWildcard || NetworkAddress(host: authority.host) == nil else { return nil }
    host = (isWildcard ? "." : "") + authority.plainHost
  }

  /// - Parameter authority: normalized, without user information.
  func matches(authority: String) -> Bool {
    guard let other = Authority(authority)?.plainHost else { return false }
    return isWildcard ? other.hasSuffix(host) : other == host
  }
}
