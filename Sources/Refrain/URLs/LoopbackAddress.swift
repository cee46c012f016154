// SPDX-License-Identifier: MIT

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Addresses that only this computer reaches: 127.0.0.0/8, ::1 (RFC 6890 §2.2), and `localhost`
/// (RFC 6761 §6.3).
package enum LoopbackAddress {
  package static func contains(_ host: String) -> Bool {
    if let bytes = bytesOfIPv4(host) { return bytes[0] == 127 }
    if let bytes = bytesOfIPv6(host) {
      // ::1, and an IPv4 address in its IPv6 form.
      return bytes == Array(repeating: 0, count: 15) + [1]
        || (bytes[..<12] == Array(repeating: 0, count: 10) + [0xFF, 0xFF] && bytes[12] == 127)
    }
    return host.lowercased() == "localhost"
  }

  /// Returns the bytes of a numeric address (inet_pton(3)), in network order.
  package static func bytesOfIPv4(_ text: String) -> [UInt8]? {
    var address = in_addr()
    guard inet_pton(AF_INET, text, &address) == 1 else { return nil }
    return withUnsafeBytes(of: address) { Array($0) }
  }

  /// As `bytesOfIPv4`, for IPv6.
  package static func bytesOfIPv6(_ text: String) -> [UInt8]? {
    var address = in6_addr()
    guard inet_pton(AF_INET6, text, &address) == 1 else { return nil }
    return withUnsafeBytes(of: address) { Array($0) }
  }
}
