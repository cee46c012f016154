// SPDX-License-Identifier: MIT
import Foundation

/// `host [ ":" port ]` of a URL or a Host field (RFC 3986 §3.2), without a user: DNS names and
/// numeric addresses, in forms that no resolver reads differently.
package struct Authority: Sendable, Hashable {
  /// In lower case, otherwise as received; an IPv6 address in its brackets.
  package var host: String
  /// 1 to 65535; nil if none is given.
  package var port: Int?

  package init?(_ text: some StringProtocol) {
    let text = text.lowercased()
    guard let (host, port) = Self.split(text[...]) else { return nil }
    if let port {
      guard let number = Self.port(port) else { return nil }
      self.port = number
    }
    // An address with a zone (`%eth0`) has no meaning in a URL.
    let isIPv6 = host.hasPrefix("[") && NetworkAddress(host: host)?.isIPv6 == true
    guard isIPv6 || Self.isName(host) else { return nil }
    self.host = String(host)
  }

  /// The host in one form for all its spellings: without a trailing dot, an IPv6 address as
  /// inet_ntop(3) writes it.
  package var plainHost: String {
    if host.hasPrefix("[") { return NetworkAddress(host: host).map { "[\($0.text)]" } ?? host }
    return host.hasSuffix(".") ? String(host.dropLast()) : host
  }

  package var text: String { port.map { "\(host):\($0)" } ?? host }

  private static func split(_ text: Substring) -> (host: Substring, port: Substring?)? {
    if text.hasPrefix("[") {
      guard let bracket = text.firstIndex(of: "]") else { return nil }
      let behind = text.index(after: bracket)
      let host = text[..<behind]
      if behind == text.endIndex { return (host, nil) }
      guard text[behind] == ":" else { return nil }
      return (host, text[text.index(after: behind)...])
    }
    guard let colon = text.firstIndex(of: ":") else { return (text, nil) }
    return (text[..<colon], text[text.index(after: colon)...])
  }

  private static func port(_ text: Substring) -> Int? {
    guard !text.isEmpty, text.utf8.count <= 5, text.utf8.allSatisfy(\.isDigit),
      text.utf8.first != UInt8(ascii: "0"), let port = Int(text), port <= 65_535
    else { return nil }
    return port
  }

  private static func isName(_ host: Substring) -> Bool {
    let name = host.hasSuffix(".") ? host.dropLast() : host
    guard !name.isEmpty, name.utf8.count <= 253 else { return false }
    let labels = name.split(separator: ".", omittingEmptySubsequences: false)
    guard labels.allSatisfy(isLabel), let last = labels.last else { return false }
    // Resolvers read `127.1` and `0x7f000001` as addresses (inet_aton(3)): only the common form is
    // accepted here.
    let endsInNumber = last.utf8.allSatisfy(\.isDigit) || last.hasPrefix("0x")
    return !endsInNumber || NetworkAddress(host) != nil
  }

  /// Whether it consists of letters, digits, `-`, and the `_` of some names.
  private static func isLabel(_ label: Substring) -> Bool {
    guard !label.isEmpty, label.utf8.count <= 63 else { return false }
    return label.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x61...0x7A, 0x2D, 0x5F: true
      default: false
      }
    }
  }
}

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
