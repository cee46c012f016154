// SPDX-License-Identifier: MIT
package import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The parts of an http or https URL, as they are spelled.
package struct WebURL {
  /// `http` or `https`.
  package var scheme: String
  /// Without user information.
  package var authority: String
  /// Path and query as a request sends them (RFC 9112 §3.2.1), but never empty. A library that
  /// splits and rejoins a path may request another resource, which a DELETE would remove.
  package var requestTarget: String

  package init?(_ text: String) {
    var reference = URIReference(text)
    _ = reference.removeUserInfo()
    guard let scheme = reference.scheme?.lowercased(), scheme == "http" || scheme == "https",
      let authority = reference.authority
    else { return nil }
    (self.scheme, self.authority) = (scheme, authority)
    let target = reference.path + (reference.query.map { "?" + $0 } ?? "")
    requestTarget = target.hasPrefix("/") ? target : "/" + target
  }
}

/// The origin of an http or https URL (RFC 6454 §4), in one form for all spellings.
package struct WebOrigin: Sendable, Hashable {
  package var scheme: String
  /// As `Authority.plainHost`.
  package var host: String
  /// The scheme's own one if the URL states none.
  package var port: Int

  /// Nil for other URLs, and those with a host that resolvers read differently.
  package init?(_ url: URL) {
    guard let parts = WebURL(url.absoluteString), let authority = Authority(parts.authority)
    else { return nil }
    scheme = parts.scheme
    host = authority.plainHost
    port = authority.port ?? (parts.scheme == "https" ? 443 : 80)
  }

  /// Whether two URLs have one origin, which may receive the same secrets. Servers may distinguish
  /// a name with a trailing dot.
  static func isOne(of left: URL, _ right: URL) -> Bool {
    guard let origin = WebOrigin(left), origin == WebOrigin(right) else { return false }
    return left.host()?.hasSuffix(".") == right.host()?.hasSuffix(".")
  }
}

/// `host [ ":" port ]` of a URL or a Host field (RFC 3986 §3.2), without a user: DNS names and
/// numeric addresses, in forms that no resolver reads differently.
package struct Authority: Sendable, Hashable {
  /// In lower case, otherwise as received; an IPv6 address in its brackets.
  package var host: String
  /// 1 to 65535; nil if none is given.
  package var port: Int?

  package init?(_ text: some StringProtocol) {
    let text = text.lowercased()
    let isBracketed = text.hasPrefix("[")
    let end =
      isBracketed
      ? text.utf8.firstIndex(of: UInt8(ascii: "]")).map { text.utf8.index(after: $0) }
      : text.utf8.firstIndex(of: UInt8(ascii: ":"))
    let host = text[..<(end ?? text.endIndex)]
    guard isBracketed ? NetworkAddress(host: host)?.isIPv6 == true : Self.isName(host) else {
      return nil
    }
    self.host = String(host)
    guard let end, end < text.endIndex else { return }
    let digits = Substring(text.utf8[end...].dropFirst())
    guard text.utf8[end] == UInt8(ascii: ":"), digits.utf8.count <= 5, !digits.hasPrefix("0"),
      let number = Int64(digits: digits), number <= 65_535
    else { return nil }
    port = Int(number)
  }

  /// The host in one form for all spellings: no trailing dot, IPv6 as inet_ntop(3) writes it.
  package var plainHost: String {
    if host.hasPrefix("[") { return NetworkAddress(host: host).map { "[\($0.text)]" } ?? host }
    return host.hasSuffix(".") ? String(host.dropLast()) : host
  }

  package var text: String { port.map { "\(host):\($0)" } ?? host }

  private static func isName(_ host: Substring) -> Bool {
    let name = host.hasSuffix(".") ? host.dropLast() : host
    let labels = name.split(separator: ".", omittingEmptySubsequences: false)
    // Letters, digits, `-`, and the `_` of some names.
    let areLabels = labels.allSatisfy { label in
      (1...63).contains(label.utf8.count)
        && label.utf8.allSatisfy { $0.isDigit || $0.isLetter || $0 == 0x2D || $0 == 0x5F }
    }
    guard areLabels, name.utf8.count <= 253, let last = labels.last else { return false }
    // Resolvers read `127.1` and `0x7f000001`, too, as addresses (inet_aton(3)).
    let endsInNumber = last.utf8.allSatisfy(\.isDigit) || last.hasPrefix("0x")
    return !endsInNumber || NetworkAddress(host: host) != nil
  }
}

/// A host, or all hosts below one, with any port or with one: `example.com`, `*.example.com`,
/// `example.com:8080`.
package struct HostPattern: Sendable, Hashable {
  /// As `Authority.plainHost`; includes the dot of a wildcard: `.example.com`.
  private let host: String
  private let port: Int?

  /// Nil if the text is no host, has a port that is not allowed, or is a wildcard below an address.
  package init?(_ text: String, allowsPort: Bool = false) {
    let isWildcard = text.hasPrefix("*.")
    let name = isWildcard ? String(text.dropFirst(2)) : text
    guard !name.utf8.contains(where: { "/?#".utf8.contains($0) }),
      let authority = Authority(URL.inASCII(name)), allowsPort || authority.port == nil,
      !isWildcard || NetworkAddress(host: authority.host) == nil
    else { return nil }
    host = (isWildcard ? "." : "") + authority.plainHost
    port = authority.port
  }

  /// - Parameter host: as `Authority.plainHost`.
  package func matches(host other: String, port: Int?) -> Bool {
    (self.port == nil || self.port == port)
      && (host.hasPrefix(".") ? other.hasSuffix(host) : other == host)
  }
}

/// A numeric IPv4 or IPv6 address.
package struct NetworkAddress: Sendable, Hashable {
  /// Four or sixteen, in network order.
  package let bytes: [UInt8]

  init(bytes: [UInt8]) { self.bytes = bytes }

  /// Reads an address as inet_pton(3) does, also in brackets; nil for a name.
  package init?(host: some StringProtocol) {
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    let text = String(isBracketed ? host.dropFirst().dropLast() : host[...])
    // inet_pton(3) reads up to a NUL, and on some systems takes a zone (`%eth0`).
    guard text.utf8.allSatisfy({ $0 != 0 && $0 != UInt8(ascii: "%") }) else { return nil }
    let isIPv6 = text.utf8.contains(UInt8(ascii: ":"))
    var bytes = [UInt8](repeating: 0, count: isIPv6 ? 16 : 4)
    guard inet_pton(isIPv6 ? AF_INET6 : AF_INET, text, &bytes) == 1 else { return nil }
    self.bytes = bytes
  }

  package var isIPv6: Bool { bytes.count == 16 }

  /// The address as inet_ntop(3) writes it: one form for all spellings.
  package var text: String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    _ = bytes.withUnsafeBytes {
      inet_ntop(isIPv6 ? AF_INET6 : AF_INET, $0.baseAddress, &text, socklen_t(text.count))
    }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// The IPv4 address that this IPv6 address stands for (RFC 4291 §2.5.5.2).
  package var mappedIPv4: NetworkAddress? {
    guard isIPv6, bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 0xFF, bytes[11] == 0xFF
    else { return nil }
    return NetworkAddress(bytes: Array(bytes[12...]))
  }

  /// Whether only this computer reaches the address: 127.0.0.0/8, ::1 (RFC 6890 §2.2).
  package var isLoopback: Bool {
    if let mappedIPv4 { return mappedIPv4.isLoopback }
    return isIPv6 ? bytes[..<15].allSatisfy { $0 == 0 } && bytes[15] == 1 : bytes[0] == 127
  }

  /// As `isLoopback`, for any host: `localhost` is one, too (RFC 6761 §6.3).
  package static func isLoopback(host: String) -> Bool {
    NetworkAddress(host: host)?.isLoopback ?? (host.lowercased() == "localhost")
  }

  /// Whether the address is not globally reachable (RFC 6890).
  package var isPrivate: Bool {
    guard isIPv6 else {
      return switch (bytes[0], bytes[1]) {
      case (0, _), (10, _), (127, _), (169, 254), (192, 168), (224..., _): true
      case (100, 64...127), (172, 16...31), (198, 18...19): true
      case (192, 0): bytes[2] == 0 || bytes[2] == 2
      default: false
      }
    }
    // The other IPv4 addresses as IPv6: RFC 6052.
    if let mappedIPv4 { return mappedIPv4.isPrivate }
    if bytes[..<12] == [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0] {
      return NetworkAddress(bytes: Array(bytes[12...])).isPrivate
    }
    // Unspecified and loopback, unique local, link-local, multicast.
    if bytes[..<15].allSatisfy({ $0 == 0 }) { return true }
    return bytes[0] & 0xFE == 0xFC || (bytes[0] == 0xFE && bytes[1] >= 0x80) || bytes[0] == 0xFF
  }

  func begins(with other: NetworkAddress, bits: Int) -> Bool {
    guard bytes.count == other.bytes.count, 0...bytes.count * 8 ~= bits else { return false }
    return (0..<bits).allSatisfy { bit in
      (bytes[bit / 8] ^ other.bytes[bit / 8]) & (0x80 >> (bit % 8)) == 0
    }
  }
}
