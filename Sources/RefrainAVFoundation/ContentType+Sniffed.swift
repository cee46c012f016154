// SPDX-License-Identifier: MIT

extension ContentType {
  static let sniffLength = 4096

  /// Returns the type that the first `sniffLength` bytes of a resource show; fewer may suffice.
  /// Only formats that are often served without a type are recognized: AVFoundation examines the
  /// others itself.
  static func sniffed(_ firstBytes: some Collection<UInt8>) -> String? {
    let bytes = Array(firstBytes.prefix(sniffLength))
    return signature(bytes) ?? tagged(bytes) ?? mpegAudio(bytes[...])
  }

  private static func signature(_ bytes: [UInt8]) -> String? {
    func text(_ offset: Int) -> String {
      String(decoding: bytes.dropFirst(offset).prefix(4), as: UTF8.self)
    }
    switch (text(0), text(4), text(8)) {
    // RIFF: RFC 2361; RF64: EBU Tech 3306; BW64: ITU-R BS.2088.
    case ("RIFF", _, "WAVE"), ("RF64", _, "WAVE"), ("BW64", _, "WAVE"): return UTI.wav
    // Apple, "Audio Interchange File Format" 1.3, and its draft for AIFF-C.
    case ("FORM", _, "AIFF"): return UTI.aiff
    case ("FORM", _, "AIFC"): return UTI.aifc
    // RFC 3533 §6
    case ("OggS", _, _): return UTI.ogg
    // RFC 9639 §6: the stream marker.
    case ("fLaC", _, _): return UTI.flac
    // RFC 8216 §4.3.1.1: the first line, nothing before it.
    case ("#EXT", "M3U\n", _), ("#EXT", "M3U\r", _), ("#EXT", "M3U ", _): return UTI.m3uPlaylist
    // ISO/IEC 14496-12 §4.3; styp, §8.16.2, is the ftyp of a segment.
    case (_, "ftyp", let brand), (_, "styp", let brand):
      return bytes.count < 12 ? nil : type(ofBrand: brand)
    default: return nil
    }
  }

  /// From the MP4 registration authority's list (mp4ra.org/registered-types/brands). Brands that
  /// are not here (isom, mp42, avc1, dash, cmfc …) are MP4 files of any content.
  private static func type(ofBrand brand: String) -> String {
    switch brand {
    case "M4A ", "M4B ": UTI.m4a
    case "M4V ": UTI.m4v
    case "qt  ": UTI.quickTime
    // 3GPP TS 26.244 §5.4 and 3GPP2 C.S0050: the last character is the release.
    case _ where brand.hasPrefix("3g2"): UTI.mobile3GPP2
    case _ where brand.hasPrefix("3g"): UTI.mobile3GPP
    default: UTI.mpeg4
    }
  }

  /// Returns the type of what follows an ID3v2 tag (id3.org, "ID3 tag version 2.4.0" §3.1); MP3,
  /// for which ID3 was made, if that is out of reach or shows nothing.
  private static func tagged(_ bytes: [UInt8]) -> String? {
    guard bytes.starts(with: "ID3".utf8), bytes.count >= 10, bytes[3] != 0xFF, bytes[4] != 0xFF
    else { return nil }
    let size = bytes[6..<10]
    // Seven bits per byte: no size looks like the frame sync of MPEG audio.
    guard size.allSatisfy({ $0 < 0x80 }) else { return nil }
    let rest = bytes.dropFirst(10 + size.reduce(0) { $0 << 7 | Int($1) })
    return rest.starts(with: "fLaC".utf8) ? UTI.flac : mpegAudio(rest) ?? UTI.mp3
  }

  /// A stream of MPEG audio begins at any frame, and the only signature is eleven set bits, so that
  /// the other fields of the header are checked for invalid values.
  private static func mpegAudio(_ bytes: ArraySlice<UInt8>) -> String? {
    let header = bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    guard bytes.count >= 4, header >> 21 == 0x7FF else { return nil }
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
