// SPDX-License-Identifier: MIT

/// The first bytes of a resource. Reads beyond the end return nil or false.
struct FirstBytes {
  private let bytes: [UInt8]

  init(_ bytes: some Collection<UInt8>, limit: Int) { self.bytes = Array(bytes.prefix(limit)) }

  var count: Int { bytes.count }

  subscript(offset: Int) -> UInt8? { bytes.indices.contains(offset) ? bytes[offset] : nil }

  /// Returns whether these ASCII characters are at the offset. (`\u{1}` and the like count as
  /// characters.)
  func has(_ text: StaticString, at offset: Int = 0) -> Bool {
    guard offset >= 0, bytes.count - offset >= text.utf8CodeUnitCount else { return false }
    return text.withUTF8Buffer { $0.elementsEqual(bytes[offset..<(offset + $0.count)]) }
  }

  func has(_ other: [UInt8], at offset: Int = 0) -> Bool {
    guard offset >= 0, bytes.count - offset >= other.count else { return false }
    return bytes[offset..<(offset + other.count)].elementsEqual(other)
  }

  /// Returns a big-endian integer of up to seven bytes.
  func integer(at offset: Int, size: Int) -> Int? {
    guard offset >= 0, bytes.count - offset >= size else { return nil }
    return bytes[offset..<(offset + size)].reduce(0) { $0 << 8 | Int($1) }
  }

  /// Returns a four-character code, as ISO/IEC 14496-12 and its relatives use them; nil if it is
  /// not printable ASCII.
  func fourCC(at offset: Int) -> String? {
    guard offset >= 0, bytes.count - offset >= 4 else { return nil }
    let part = bytes[offset..<(offset + 4)]
    return part.allSatisfy { (0x20...0x7E).contains($0) }
      ? String(decoding: part, as: UTF8.self) : nil
  }
}
