// SPDX-License-Identifier: MIT

/// The hash of a manifest's body, for entity tags and for comparisons between its versions: words of
/// eight bytes, each multiplied to 128 bits that are folded, as in wyhash, with MurmurHash3's
/// finalizer. The same on every machine and in every version of the program. Not for protection
/// against forgery.
package enum BodyHash {
  private static let offset: UInt64 = 0xCBF2_9CE4_8422_2325
  private static let multiplier: UInt64 = 0x9E37_79B9_7F4A_7C15

  package static func of(_ body: [UInt8]) -> UInt64 {
    body.withUnsafeBytes { body in
      var hash = offset
      var index = 0
      while index + 8 <= body.count {
        let word = body.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        hash = mixed(hash, UInt64(littleEndian: word))
        index += 8
      }
      for byte in body[index...] { hash = mixed(hash, UInt64(byte)) }
      return finished(mixed(hash, UInt64(body.count)))
    }
  }

  private static func mixed(_ hash: UInt64, _ word: UInt64) -> UInt64 {
    let product = (hash ^ word).multipliedFullWidth(by: multiplier)
    return product.high ^ product.low
  }

  private static func finished(_ hash: UInt64) -> UInt64 {
    var hash = (hash ^ hash >> 33) &* 0xFF51_AFD7_ED55_8CCD
    hash = (hash ^ hash >> 33) &* 0xC4CE_B9FE_1A85_EC53
    return hash ^ hash >> 33
  }
}
