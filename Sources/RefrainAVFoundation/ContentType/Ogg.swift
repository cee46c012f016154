// SPDX-License-Identifier: MIT

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
