// SPDX-License-Identifier: MIT
import Refrain

/// The client to which a limit applies: an IPv4 address, or the network of an IPv6 one. A single
/// IPv6 client usually has all addresses of a /64 (RFC 6177 §2).
struct ClientNetwork: Sendable, Hashable {
  private var bytes: [UInt8]

  /// - Parameter address: numeric; anything else is a client of its own.
  init(_ address: String) {
    if let bytes = LoopbackAddress.bytesOfIPv4(address) {
      self.bytes = bytes
    } else if let bytes = LoopbackAddress.bytesOfIPv6(String(address.prefix { $0 != "%" })) {
      let isMapped = bytes[..<12] == (Array(repeating: 0, count: 10) + [0xFF, 0xFF])[...]
      self.bytes = Array(isMapped ? bytes[12...] : bytes[..<8])
    } else {
      bytes = Array(address.utf8)
    }
  }
}
