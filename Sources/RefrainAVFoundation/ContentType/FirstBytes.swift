// SPDX-License-Identifier: MIT

/// The beginning of a resource, read where there may be nothing: beyond the end every read is nil.
struct FirstBytes {
  private let bytes: [UInt8]

  init(_ bytes: some Collection<UInt8>, limit: Int) { self.bytes = Array(bytes.prefix(limit)) }

  var count: Int { bytes.count }

  subscript(offset: Int) -> UInt8? { bytes.indices.contains(offset) ? bytes[offset] : nil }

  /// Whether these ASCII characters are at the offset. (`\u{1}` and the like count as characters.)
  func has(_ text: StaticString, at offset: Int = 0) -> Bool {
    guard offset >= 0, bytes.count - offset >= text.utf8CodeUnitCount else { return false }
    return text.withUTF8Buffer { $0.elementsEqual(bytes[offset..<(offset + $0.count)]) }
  }

  func has(_ other: [UInt8], at offset: Int = 0) -> Bool {
    guard offset >= 0, bytes.count - offset >= other.count else { return false }
    return bytes[offset..<(offset + other.count)].elementsEqual(other)
  }

  /// Big-endian, of up to seven bytes.
  func integer(at offset: Int, size: Int) -> Int? {
    guard offset >= 0, bytes.count - offset >= size else { return nil }
    return bytes[offset..<(offset + size)].reduce(0) { $0 << 8 | Int($1) }
  }

  /// Four characters, as ISO/IEC 14496-12 and its relatives name things; nil where they are not
  /// printable ASCII.
  func fourCC(at offset: Int) -> String? {
    guard offset >= 0, bytes.count - offset >= 4 else { return nil }
    let part = bytes[offset..<(offset + 4)]
    return part.allSatisfy { (0x20...0x7E).contains($0) }
      ? String(decoding: part, as: UTF8.self) : nil
  }
}
