// SPDX-License-Identifier: MIT

/// Matroska (RFC 9559) and WebM: EBML documents (RFC 8794) that name their type in the header.
enum Matroska {
  static func type(_ bytes: FirstBytes) -> String? {
    guard bytes.has([0x1A, 0x45, 0xDF, 0xA3]), let header = size(bytes, at: 4) else { return nil }
    var offset = header.next
    let end = min(offset + header.value, bytes.count)
    while offset < end, let id = bytes[offset] {
      // RFC 8794 §5: the number of leading zeros is the length minus one; the marker belongs to an
      // ID.
      let idSize = id.leadingZeroBitCount + 1
      guard idSize <= 4, let whole = bytes.integer(at: offset, size: idSize),
        let content = size(bytes, at: offset + idSize)
      else { return nil }
      // DocType, §11.2.6
      if whole == 0x4282 {
        if bytes.has("webm", at: content.next) { return UTI.webm }
        return bytes.has("matroska", at: content.next) ? UTI.matroska : nil
      }
      offset = content.next + content.value
    }
    return nil
  }

  /// Returns a size and the offset after it. The leading zeros of the first byte state how many
  /// bytes follow (RFC 8794 §4).
  private static func size(_ bytes: FirstBytes, at offset: Int) -> (value: Int, next: Int)? {
    guard let first = bytes[offset], first != 0 else { return nil }
    let more = first.leadingZeroBitCount
    guard let tail = bytes.integer(at: offset + 1, size: more) else { return nil }
    let value = (Int(first) & (0x7F >> more)) << (8 * more) | tail
    return (min(value, ContentType.sniffLength), offset + 1 + more)
  }
}
