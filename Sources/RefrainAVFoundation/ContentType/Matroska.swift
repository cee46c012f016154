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

/// Ogg (RFC 3533). Audio and video are distinguished by the first packets of the streams inside.
enum Ogg {
  static func type(_ bytes: FirstBytes) -> String? {
    // §6: capture pattern and version.
    guard bytes.has([0x4F, 0x67, 0x67, 0x53, 0x00]) else { return nil }
    var offset = 0
    // §4: the first pages of all streams, marked by flag 2, come before anything else.
    while bytes.has("OggS", at: offset), let flags = bytes[offset + 5], flags & 2 != 0,
      let segments = bytes[offset + 26]
    {
      let packet = offset + 27 + Int(segments)
      if isVideo(bytes, at: packet) { return UTI.ogv }
      var size = 0
      for index in 0..<Int(segments) { size += Int(bytes[offset + 27 + index] ?? 0) }
      offset = packet + size
    }
    // Vorbis, Opus (RFC 7845), FLAC (RFC 9639 §10.1), Speex.
    return UTI.ogg
  }

  private static func isVideo(_ bytes: FirstBytes, at offset: Int) -> Bool {
    // Theora specification §6.1, and Dirac's parse info.
    bytes.has([0x80] + "theora".utf8, at: offset) || bytes.has("BBCD", at: offset)
  }
}
