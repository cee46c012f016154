// SPDX-License-Identifier: MIT
package import Foundation

/// The hosts of private networks, by their names alone: addresses that are not globally reachable
/// (RFC 6890), and names that public DNS does not have. A public name may still have a private
/// address, which shows when it is connected to (`OriginRequest.requiresPublicAddress`).
package enum PrivateNetwork {
  package static func contains(_ url: URL) -> Bool {
    // No request would be made for any other URL.
    WebOrigin(url).map { contains(host: $0.host) } ?? true
  }

  /// - Parameter host: in lower case, without a trailing dot; an IPv6 address in its brackets.
  package static func contains(host: String) -> Bool {
    if host.hasPrefix("[") {
      let text = String(host.dropFirst().dropLast())
      return LoopbackAddress.bytesOfIPv6(text).map(isPrivate(ipv6:)) ?? true
    }
    if let bytes = LoopbackAddress.bytesOfIPv4(host) { return isPrivate(ipv4: bytes) }
    // A name without a dot is one of the local network.
    guard let dot = host.lastIndex(of: ".") else { return true }
    // RFC 6761, RFC 6762, RFC 8375, RFC 9476; "internal" is reserved by ICANN.
    return ["localhost", "local", "internal", "arpa", "lan", "home", "corp", "test", "invalid"]
      .contains(host[host.index(after: dot)...])
  }

  /// - Parameter text: numeric, without brackets; it may have a zone (`%eth0`).
  static func contains(address text: String) -> Bool {
    let text = String(text.prefix { $0 != "%" })
    let bytes = LoopbackAddress.bytesOfIPv4(text) ?? LoopbackAddress.bytesOfIPv6(text)
    return bytes.map { contains(address: $0) } ?? true
  }

  /// - Parameter bytes: of an IPv4 or an IPv6 address, in network order.
  static func contains(address bytes: [UInt8]) -> Bool {
    bytes.count == 4 ? isPrivate(ipv4: bytes) : bytes.count == 16 ? isPrivate(ipv6: bytes) : true
  }

  private static func isPrivate(ipv4 bytes: [UInt8]) -> Bool {
    switch (bytes[0], bytes[1]) {
    case (0, _), (10, _), (127, _), (169, 254), (192, 168), (224..., _): true
    case (100, 64...127), (172, 16...31), (198, 18...19): true
    case (192, 0): bytes[2] == 0 || bytes[2] == 2
    default: false
    }
  }

  private static func isPrivate(ipv6 bytes: [UInt8]) -> Bool {
    let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
    // IPv4 addresses as IPv6 (RFC 4291 §2.5.5.2, RFC 6052).
    if isMapped || bytes[..<12] == [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0] {
      return isPrivate(ipv4: Array(bytes[12...]))
    }
    // Unspecified and loopback, unique local, link-local, multicast.
    if bytes[..<15].allSatisfy({ $0 == 0 }) { return true }
    return bytes[0] & 0xFE == 0xFC || (bytes[0] == 0xFE && bytes[1] >= 0x80) || bytes[0] == 0xFF
  }
}
