// SPDX-License-Identifier: MIT

extension ContentType {
  static let sniffLength = 4096

  /// Returns the type that the first `sniffLength` bytes of a resource show; fewer may suffice.
  /// Only formats that are often served without a type are recognized: AVFoundation examines the
  /// others itself.
  static func sniffed(_ firstBytes: some Collection<UInt8>) -> String? {
    let bytes = FirstBytes(firstBytes, limit: sniffLength)
    return signature(bytes) ?? ISOMedia.type(bytes) ?? tagged(bytes)
      ?? MPEGAudio.type(bytes, at: 0)
  }

  private static func signature(_ bytes: FirstBytes) -> String? {
    // RIFF: RFC 2361; RF64: EBU Tech 3306; BW64: ITU-R BS.2088.
    if bytes.has("RIFF") || bytes.has("RF64") || bytes.has("BW64"), bytes.has("WAVE", at: 8) {
      return UTI.wav
    }
    // Apple, "Audio Interchange File Format" 1.3, and its draft for AIFF-C.
    if bytes.has("FORM") {
      if bytes.has("AIFF", at: 8) { return UTI.aiff }
      if bytes.has("AIFC", at: 8) { return UTI.aifc }
    }
    // RFC 3533 §6
    if bytes.has("OggS") { return UTI.ogg }
    // RFC 9639 §6: the stream marker.
    if bytes.has("fLaC") { return UTI.flac }
    // RFC 8216 §4.3.1.1: the first line, nothing before it.
    if bytes.has("#EXTM3U"), bytes[7].map({ $0 <= 0x20 }) ?? true { return UTI.m3uPlaylist }
    return nil
  }

  /// Returns the type of what follows an ID3v2 tag (id3.org, "ID3 tag version 2.4.0" §3.1); MP3,
  /// for which ID3 was made, if that is out of reach or shows nothing.
  private static func tagged(_ bytes: FirstBytes) -> String? {
    guard bytes.has("ID3"), bytes[3] != 0xFF, bytes[4] != 0xFF else { return nil }
    var size = 0
    for index in 6..<10 {
      // Seven bits per byte: no size looks like the frame sync of MPEG audio.
      guard let byte = bytes[index], byte < 0x80 else { return nil }
      size = size << 7 | Int(byte)
    }
    if bytes.has("fLaC", at: size + 10) { return UTI.flac }
    return MPEGAudio.type(bytes, at: size + 10) ?? UTI.mp3
  }
}

/// The first bytes of a resource. Reads beyond the end return nil or false.
struct FirstBytes {
  private let bytes: [UInt8]

  init(_ bytes: some Collection<UInt8>, limit: Int) { self.bytes = Array(bytes.prefix(limit)) }

  subscript(offset: Int) -> UInt8? { bytes.indices.contains(offset) ? bytes[offset] : nil }

  func has(_ text: String, at offset: Int = 0) -> Bool {
    offset >= 0 && bytes.dropFirst(offset).starts(with: text.utf8)
  }

  /// Returns a big-endian integer of up to seven bytes.
  func integer(at offset: Int, size: Int) -> Int? {
    guard offset >= 0, bytes.count - offset >= size else { return nil }
    return bytes[offset..<(offset + size)].reduce(0) { $0 << 8 | Int($1) }
  }

  func fourCC(at offset: Int) -> String? {
    guard bytes.count - offset >= 4 else { return nil }
    return String(decoding: bytes[offset..<(offset + 4)], as: UTF8.self)
  }
}

/// MP4 and its relatives (ISO/IEC 14496-12).
enum ISOMedia {
  /// Returns the type of the major brand, else of the first compatible brand that is specific.
  static func type(_ bytes: FirstBytes) -> String? {
    // §4.3; styp, §8.16.2, is the ftyp of a segment.
    guard bytes.has("ftyp", at: 4) || bytes.has("styp", at: 4),
      let size = bytes.integer(at: 0, size: 4), size >= 16, size % 4 == 0, size <= 4096,
      let major = bytes.fourCC(at: 8)
    else { return nil }
    if let type = type(ofBrand: major) { return type }
    let compatible = stride(from: 16, to: size, by: 4).compactMap(bytes.fourCC)
    return compatible.lazy.compactMap(type(ofBrand:)).first ?? UTI.mpeg4
  }

  /// From the MP4 registration authority's list (mp4ra.org/registered-types/brands). Brands that
  /// are not here (isom, mp42, avc1, dash, cmfc …) are MP4 files of any content.
  private static func type(ofBrand brand: String) -> String? {
    switch brand {
    case "M4A ", "M4B ", "F4A ", "F4B ": UTI.m4a
    case "M4P ": UTI.protectedM4A
    case "M4V ", "M4VH", "M4VP": UTI.m4v
    case "qt  ": UTI.quickTime
    // 3GPP TS 26.244 §5.4 and 3GPP2 C.S0050: the last character is the release.
    case _ where brand.hasPrefix("3g2"): UTI.mobile3GPP2
    case _ where ["3gp", "3gr", "3gs", "3ge", "3gg"].contains(where: brand.hasPrefix):
      UTI.mobile3GPP
    default: nil
    }
  }
}

/// MPEG audio. A stream begins at any frame, and the only signature is eleven set bits, so that
/// the other fields of the header are checked for invalid values.
enum MPEGAudio {
  static func type(_ bytes: FirstBytes, at offset: Int) -> String? {
    guard let header = bytes.integer(at: offset, size: 4), header >> 21 == 0x7FF else { return nil }
    let version = header >> 19 & 3
    switch header >> 17 & 3 {
    // Layer III of ISO/IEC 11172-3 §2.4.1.3 or 13818-3, or the unofficial MPEG-2.5. A bit rate of 0
    // is a free format, which is not used.
    case 1:
      let isValid =
        version != 1 && (1...14).contains(header >> 12 & 15) && header >> 10 & 3 != 3
        && header & 3 != 2
      return isValid ? UTI.mp3 : nil
    // ISO/IEC 14496-3 §1.A.2.2 (ADTS): 96,000 Hz to 7,350 Hz are 0…12.
    case 0: return version >= 2 && header >> 10 & 15 < 13 ? UTI.aac : nil
    default: return nil
    }
  }
}
