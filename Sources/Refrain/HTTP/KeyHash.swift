// SPDX-License-Identifier: MIT

/// The name of a key's directory: 128 bits of FNV-1a in hexadecimal. The hash need not resist
/// deliberate collisions: the record holds the whole key, so an entry is never taken for that of
/// another key, and two colliding keys only displace each other.
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

  /// Returns the name of an entry's shard, one of 256 directories between the cache's and the
  /// entries'.
  static func shard(of name: String) -> String { String(name.suffix(2)) }
}
