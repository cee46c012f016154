// SPDX-License-Identifier: MIT

/// A gzip member (RFC 1952) whose deflate blocks are all stored: valid, but not smaller.
enum StoredGzip {
  static func encode(_ bytes: [UInt8]) -> [UInt8] {
    var out: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
    out.reserveCapacity(bytes.count + bytes.count / 65_535 * 5 + 32)
    var start = 0
    repeat {
      let end = min(start + 65_535, bytes.count)
      let size = UInt16(end - start)
      out.append(end == bytes.count ? 1 : 0)
      append(size, to: &out)
      append(~size, to: &out)
      out.append(contentsOf: bytes[start..<end])
      start = end
    } while start < bytes.count
    append(crc32(bytes), to: &out)
    append(UInt32(truncatingIfNeeded: bytes.count), to: &out)
    return out
  }

  private static func append(_ number: some FixedWidthInteger, to out: inout [UInt8]) {
    withUnsafeBytes(of: number.littleEndian) { out.append(contentsOf: $0) }
  }

  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { crc, _ in crc & 1 == 1 ? 0xEDB8_8320 ^ (crc >> 1) : crc >> 1 }
  }

  static func crc32(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~UInt32(0)) { crc, byte in table[Int((crc ^ UInt32(byte)) & 0xFF)] ^ (crc >> 8) }
  }
}
