// SPDX-License-Identifier: MIT
import Foundation

/// What only this computer reaches: 127.0.0.0/8, ::1 (RFC 6890 §2.2), and `localhost` (RFC 6761 §6.3).
package enum LoopbackAddress {
  package static func contains(_ host: String) -> Bool {
    if let bytes = numeric(host, AF_INET, in_addr()) { return bytes[0] == 127 }
    if let bytes = numeric(host, AF_INET6, in6_addr()) {
      // ::1, and an IPv4 address in its IPv6 form.
      return bytes == Array(repeating: 0, count: 15) + [1]
        || (bytes[..<12] == Array(repeating: 0, count: 10) + [0xFF, 0xFF] && bytes[12] == 127)
    }
    return host.lowercased() == "localhost"
  }

  /// The bytes of a numeric address (inet_pton(3)), the first ones first.
  package static func numeric<Address: BitwiseCopyable>(
    _ text: String, _ family: CInt, _ empty: Address
  ) -> [UInt8]? {
    var address = empty
    guard inet_pton(family, text, &address) == 1 else { return nil }
    return withUnsafeBytes(of: address) { Array($0) }
  }
}
