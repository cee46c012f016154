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
    guard !name.isEmpty, !name.utf8.contains(where: Self.isForbidden),
      name.hasPrefix("[") ? name.hasSuffix("]") : !name.contains(":"),
      let url = URL(text: "http://\(name)/"),
      let authority = CacheKey.reference(of: url).authority
    else { return nil }
    let plain = Self.host(of: authority)
    guard !plain.isEmpty, !plain.hasPrefix(".") else { return nil }
    guard plain == authority || plain + "." == authority else { return nil }
    guard !isWildcard || !Self.isAddress(plain) else { return nil }
    host = isWildcard ? "." + plain : plain
  }

  /// - Parameter authority: normalized, without user information.
  func matches(authority: String) -> Bool {
    let other = Self.host(of: authority)
    return isWildcard ? other.hasSuffix(host) && other != host : other == host
  }

  private static func isForbidden(_ byte: UInt8) -> Bool {
    byte <= 0x20 || "/?#@*%\\".utf8.contains(byte)
  }

  /// No name ends in a label of digits (RFC 3696 §2).
  private static func isAddress(_ host: String) -> Bool {
    let last = host.utf8.reversed().prefix { $0 != UInt8(ascii: ".") }
    return host.hasPrefix("[") || last.allSatisfy(\.isDigit)
  }

  /// Returns the host without a port and without a trailing dot.
  private static func host(of authority: String) -> String {
    var host = authority[...]
    if let colon = host.lastIndex(of: ":"), !host.hasSuffix("]") { host = host[..<colon] }
    if host.hasSuffix(".") { host = host.dropLast() }
    return String(host)
  }
}
