// SPDX-License-Identifier: MIT

extension ContentType {
  /// The number of first bytes that `sniffed` examines: enough for two frames of MPEG audio (at most
  /// 2,881 bytes each), whose headers confirm each other.
  static let sniffLength = 8192

  /// Returns the type that the first bytes of a resource show; nil if they show none, or are too
  /// few. Pass `sniffLength` bytes if possible; fewer may suffice. Only formats that are often
  /// served without a type are recognized: AVFoundation examines the others itself.
  static func sniffed(_ firstBytes: some Collection<UInt8>) -> String? {
    let bytes = FirstBytes(firstBytes, limit: sniffLength)
    return signature(bytes) ?? ISOMedia.type(bytes) ?? tagged(bytes)
      ?? MPEGAudio.type(bytes, at: 0)
  }

  /// Returns the type of a format that begins with a signature.
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
    // Apple, "Core Audio Format Specification": the type and version 1.
    if bytes.has("caff\0\u{1}") { return UTI.caf }
    // RFC 4867 §5.1
    if bytes.has("#!AMR\n") || bytes.has("#!AMR-WB\n") { return UTI.amr }
    if bytes.has(".snd") { return UTI.au }
    // RFC 8216 §4.3.1.1: the first line, nothing before it.
    if bytes.has("#EXTM3U"), bytes[7].map({ $0 <= 0x20 }) ?? true { return UTI.m3uPlaylist }
    return nil
  }

  /// Returns the type of a resource that begins with ID3v2 tags (id3.org, "ID3 tag version 2.4.0"
  /// §3.1), by the bytes after them; MP3, for which ID3 was made, if those show nothing or are out
  /// of reach.
  private static func tagged(_ bytes: FirstBytes) -> String? {
    guard var offset = tagEnd(bytes, from: 0) else { return nil }
    // Some programs put one tag in front of another.
    while let end = tagEnd(bytes, from: offset) { offset = end }
    // Some pad with zeros beyond the size of the tag.
    while bytes[offset] == 0 { offset += 1 }
    guard bytes[offset] != nil else { return UTI.mp3 }
    if bytes.has("fLaC", at: offset) { return UTI.flac }
    return MPEGAudio.type(bytes, at: offset) ?? UTI.mp3
  }

  private static func tagEnd(_ bytes: FirstBytes, from start: Int) -> Int? {
    guard bytes.has("ID3", at: start), let version = bytes[start + 3], version != 0xFF,
      let revision = bytes[start + 4], revision != 0xFF, let flags = bytes[start + 5]
    else { return nil }
    var size = 0
    for index in 6..<10 {
      // Seven bits per byte: no size looks like the frame sync of MPEG audio.
      guard let byte = bytes[start + index], byte < 0x80 else { return nil }
      size = size << 7 | Int(byte)
    }
    let hasFooter = version >= 4 && flags & 0x10 != 0
    return start + 10 + size + (hasFooter ? 10 : 0)
  }
}

/// The first bytes of a resource. Reads beyond the end return nil or false.
struct FirstBytes {
  private let bytes: [UInt8]

  init(_ bytes: some Collection<UInt8>, limit: Int) { self.bytes = Array(bytes.prefix(limit)) }

  subscript(offset: Int) -> UInt8? { bytes.indices.contains(offset) ? bytes[offset] : nil }

  /// Returns whether these ASCII characters are at the offset.
  func has(_ text: String, at offset: Int = 0) -> Bool {
    offset >= 0 && bytes.dropFirst(offset).starts(with: text.utf8)
  }

  /// Returns a big-endian integer of up to seven bytes.
  func integer(at offset: Int, size: Int) -> Int? {
    guard offset >= 0, bytes.count - offset >= size else { return nil }
    return bytes[offset..<(offset + size)].reduce(0) { $0 << 8 | Int($1) }
  }

  /// Returns a four-character code, as ISO/IEC 14496-12 and its relatives use them; nil if it is
  /// not printable ASCII.
  func fourCC(at offset: Int) -> String? {
    guard let code = integer(at: offset, size: 4) else { return nil }
    let part = (0..<4).map { UInt8(code >> (24 - 8 * $0) & 0xFF) }
    return part.allSatisfy { (0x20...0x7E).contains($0) }
      ? String(decoding: part, as: UTF8.self) : nil
  }
}

/// MP4 and its relatives (ISO/IEC 14496-12).
enum ISOMedia {
  /// Returns the type of the major brand; if that is not specific, of the first compatible brand
  /// that is.
  static func type(_ bytes: FirstBytes) -> String? {
    // §4.3; styp, §8.16.2, is the ftyp of a segment.
    guard bytes.has("ftyp", at: 4) || bytes.has("styp", at: 4),
      let size = bytes.integer(at: 0, size: 4), size >= 16, size % 4 == 0, size <= 4096,
      let major = bytes.fourCC(at: 8), !imageBrands.contains(major)
    else { return nil }
    if let type = type(ofBrand: major) { return type }
    let compatible = stride(from: 16, to: size, by: 4).compactMap(bytes.fourCC)
    return compatible.lazy.compactMap(type(ofBrand:)).first ?? UTI.mpeg4
  }

  /// Returns the type of a brand, from the MP4 registration authority's list
  /// (mp4ra.org/registered-types/brands). Brands that are not here (isom, mp42, avc1, dash, cmfc …)
  /// are MP4 files of any content.
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

  /// The brands of pictures in the same boxes: HEIF (ISO/IEC 23008-12), AVIF, JPEG 2000 and others.
  private static let imageBrands: Set<String> = [
    "mif1", "msf1", "heic", "heix", "heim", "heis", "hevc", "hevx", "avif", "avis", "crx ",
    "jp2 ", "jpm ", "jpx ",
  ]
}

/// MPEG audio frames. A stream begins at any of them, and their only signature is a dozen set bits.
/// Every field of a header is therefore checked for invalid values, and the next frame's header has
/// to be where the first one says and agree with it.
enum MPEGAudio {
  static func type(_ bytes: FirstBytes, at offset: Int) -> String? {
    if let first = Frame(bytes, at: offset), first.vouchedFor(by: bytes) {
      return UTI.mp3
    }
    if let first = ADTSFrame(bytes, at: offset), first.vouchedFor(by: bytes) { return UTI.aac }
    return nil
  }

  /// A frame of layer III of ISO/IEC 11172-3 §2.4.1.3 or 13818-3, or the unofficial MPEG-2.5 for low
  /// sampling rates.
  private struct Frame {
    let offset: Int
    let version: Int
    let sampleRate: Int
    let size: Int

    /// Bit rates in kbit/s by index; 0 is a free format, which is not used, and 15 is forbidden.
    private static let rates = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]
    private static let lowRates = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]

    init?(_ bytes: FirstBytes, at offset: Int) {
      guard let header = bytes.integer(at: offset, size: 4), header >> 21 == 0x7FF else {
        return nil
      }
      let version = header >> 19 & 3
      let isLayer3 = header >> 17 & 3 == 1
      let bitRateIndex = header >> 12 & 15
      let rateIndex = header >> 10 & 3
      guard version != 1, isLayer3, (1...14).contains(bitRateIndex), rateIndex != 3,
        header & 3 != 2
      else { return nil }
      let isMPEG1 = version == 3
      let bitRates = isMPEG1 ? Self.rates : Self.lowRates
      // 44.1, 48 and 32 kHz; half of that in MPEG-2, a quarter in MPEG-2.5.
      let divisor = isMPEG1 ? 1 : version == 2 ? 2 : 4
      sampleRate = [44_100, 48_000, 32_000][rateIndex] / divisor
      size = (isMPEG1 ? 144 : 72) * bitRates[bitRateIndex] * 1000 / sampleRate + (header >> 9 & 1)
      self.version = version
      self.offset = offset
    }

    func vouchedFor(by bytes: FirstBytes) -> Bool {
      guard let next = Frame(bytes, at: offset + size) else { return false }
      return next.version == version && next.sampleRate == sampleRate
    }
  }

  /// A frame of ISO/IEC 14496-3 §1.A.2.2 (ADTS).
  private struct ADTSFrame {
    let offset: Int
    /// The fields that are equal in every frame: `adts_fixed_header`.
    let fixed: Int
    let size: Int

    init?(_ bytes: FirstBytes, at offset: Int) {
      guard let header = bytes.integer(at: offset, size: 7), header >> 44 == 0xFFF,
        header >> 41 & 3 == 0
      else { return nil }
      // 96,000 Hz to 7,350 Hz are 0…12; the others are reserved.
      guard header >> 34 & 15 < 13 else { return nil }
      size = header >> 13 & 0x1FFF
      let hasChecksum = header >> 40 & 1 == 0
      guard size > (hasChecksum ? 9 : 7) else { return nil }
      fixed = header >> 28
      self.offset = offset
    }

    func vouchedFor(by bytes: FirstBytes) -> Bool {
      guard let next = ADTSFrame(bytes, at: offset + size) else { return false }
      return next.fixed == fixed
    }
  }
}
