// SPDX-License-Identifier: MIT

/// The name of a key's directory: 128 bits of FNV-1a in hexadecimal. It need not withstand anyone
/// who looks for collisions: the record has the whole key, and an entry of another key is never
/// taken for one's own; two such keys would only displace each other.
enum KeyHash {
  static func name(of key: CacheKey) -> String {
    let prime: UInt128 = 0x0000_0000_0100_0000_0000_0000_0000_013B
    var hash: UInt128 = 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D
    for byte in key.rawValue.utf8 {
      hash ^= UInt128(byte)
      hash = hash &* prime
    }
    let text = String(hash, radix: 16)
    return String(repeating: "0", count: 32 - text.count) + text
  }

  /// One of 256 directories between the cache's and the entries'.
  static func shard(of name: String) -> String { String(name.suffix(2)) }
}
