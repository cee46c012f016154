// SPDX-License-Identifier: MIT
#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A numeric IPv4 or IPv6 address.
package struct NetworkAddress: Sendable, Hashable {
  /// Four or sixteen, in network order.
  package let bytes: [UInt8]

  init(bytes: [UInt8]) { self.bytes = bytes }

  /// - Parameter text: as inet_pton(3) reads it, without brackets.
  /// - Returns: nil for a name.
  package init?(_ text: some StringProtocol) {
    let text = String(text)
    // inet_pton(3) reads up to a NUL, and on some systems takes a zone (`%eth0`).
    guard text.utf8.allSatisfy({ $0 != 0 && $0 != UInt8(ascii: "%") }) else { return nil }
    for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
      var bytes = [UInt8](repeating: 0, count: count)
      guard inet_pton(family, text, &bytes) == 1 else { continue }
      self.bytes = bytes
      return
    }
    return nil
  }

  /// - Parameter host: the host of a URL: an IPv6 address is in brackets, unless Foundation has
  ///   removed them.
  package init?(host: some StringProtocol) {
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    self.init(isBracketed ? String(host.dropFirst().dropLast()) : String(host))
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

  /// The IPv4 address that this IPv6 address stands for (RFC 4291 §2.5.5.2): a socket for both shows
  /// those of its IPv4 clients so.
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

  /// Whether the first bits equal those of the other address.
  func begins(with other: NetworkAddress, bits: Int) -> Bool {
    guard bytes.count == other.bytes.count, 0...bytes.count * 8 ~= bits else { return false }
    return (0..<bits).allSatisfy { bit in
      (bytes[bit / 8] ^ other.bytes[bit / 8]) & (0x80 >> (bit % 8)) == 0
    }
  }
}
