// SPDX-License-Identifier: MIT
#if os(Linux)
  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// An IPv4 or IPv6 address as in a URL, with or without brackets; the bytes in network order.
  struct NetworkAddress: Sendable, Hashable {
    let bytes: [UInt8]

    /// Nil if the text is a name.
    init?(_ text: String) {
      let text =
        text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
      var four = in_addr()
      if inet_pton(AF_INET, text, &four) == 1 {
        bytes = withUnsafeBytes(of: &four) { Array($0) }
        return
      }
      var six = in6_addr()
      guard inet_pton(AF_INET6, String(text.prefix { $0 != "%" }), &six) == 1 else { return nil }
      bytes = withUnsafeBytes(of: &six) { Array($0) }
    }

    /// RFC 6890 §2.2: 127.0.0.0/8 and ::1.
    var isLoopback: Bool {
      bytes.count == 4 ? bytes[0] == 127 : bytes == [UInt8](repeating: 0, count: 15) + [1]
    }

    /// Whether the first bits equal those of the other address.
    func begins(with other: NetworkAddress, bits: Int) -> Bool {
      guard bytes.count == other.bytes.count, 0...bytes.count * 8 ~= bits else { return false }
      return (0..<bits).allSatisfy { bit in
        (bytes[bit / 8] ^ other.bytes[bit / 8]) & (0x80 >> (bit % 8)) == 0
      }
    }
  }
#endif
