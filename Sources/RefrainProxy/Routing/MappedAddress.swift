// SPDX-License-Identifier: MIT
import Refrain

/// IPv4 addresses in their IPv6 form (RFC 4291 §2.5.5.2): a socket for both shows those of its IPv4
/// clients so.
enum MappedAddress {
  /// Returns the IPv4 form of such an address; nil for any other text.
  ///
  /// - Parameter text: without brackets.
  static func ipv4(_ text: String) -> String? {
    guard let bytes = LoopbackAddress.bytesOfIPv6(text),
      bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 0xFF, bytes[11] == 0xFF
    else { return nil }
    return bytes[12...].map(String.init).joined(separator: ".")
  }
}
