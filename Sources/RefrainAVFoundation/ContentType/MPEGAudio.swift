// SPDX-License-Identifier: MIT

/// MPEG audio frames. A stream begins at any of them, and their only signature is a dozen set bits.
/// Every field of a header is therefore checked for invalid values, and the next frame's header has
/// to be where the first one says and agree with it.
enum MPEGAudio {
  static func type(_ bytes: FirstBytes, at offset: Int) -> String? {
    if let first = Frame(bytes, at: offset), first.vouchedFor(by: bytes) {
      return first.layer == 3 ? UTI.mp3 : UTI.mp2
    }
    if let first = ADTSFrame(bytes, at: offset), first.vouchedFor(by: bytes) { return UTI.aac }
    return nil
  }

  /// A frame of ISO/IEC 11172-3 §2.4.1.3 or 13818-3, or the unofficial MPEG-2.5 for low sampling
  /// rates.
  private struct Frame {
    let offset: Int
    let version: Int
    let layer: Int
    let sampleRate: Int
    let size: Int

    /// Bit rates in kbit/s by index; 0 is a free format, which is not used, and 15 is forbidden.
    private static let layer2 = [
      0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384,
    ]
    private static let layer3 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]
    private static let lowRates = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]

    init?(_ bytes: FirstBytes, at offset: Int) {
      guard let header = bytes.integer(at: offset, size: 4), header >> 21 == 0x7FF else {
        return nil
      }
      let version = header >> 19 & 3
      // Layer I is not distributed, and would only cause mistakes.
      let layer = 4 - (header >> 17 & 3)
      let bitRateIndex = header >> 12 & 15
      let rateIndex = header >> 10 & 3
      guard version != 1, layer == 2 || layer == 3, (1...14).contains(bitRateIndex),
        rateIndex != 3, header & 3 != 2
      else { return nil }
      let isMPEG1 = version == 3
      let bitRates = isMPEG1 ? (layer == 2 ? Self.layer2 : Self.layer3) : Self.lowRates
      // 44.1, 48 and 32 kHz; half of that in MPEG-2, a quarter in MPEG-2.5.
      let divisor = isMPEG1 ? 1 : version == 2 ? 2 : 4
      sampleRate = [44_100, 48_000, 32_000][rateIndex] / divisor
      let samplesPerByte = layer == 3 && !isMPEG1 ? 72 : 144
      size = samplesPerByte * bitRates[bitRateIndex] * 1000 / sampleRate + (header >> 9 & 1)
      self.version = version
      self.layer = layer
      self.offset = offset
    }

    func vouchedFor(by bytes: FirstBytes) -> Bool {
      guard let next = Frame(bytes, at: offset + size) else { return false }
      return next.version == version && next.layer == layer && next.sampleRate == sampleRate
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

/// MPEG-2 transport streams (ISO/IEC 13818-1 §2.4.3.2): packets of 188 bytes that begin with 0x47;
/// on Blu-ray and AVCHD, a time of four bytes precedes each.
enum TransportStream {
  /// The number of packets that have to match: three match by chance in one of 16 million cases.
  private static let packets = 4

  static func type(_ bytes: FirstBytes) -> String? {
    if isStream(bytes, packet: 188, sync: 0) { return UTI.transportStream }
    return isStream(bytes, packet: 192, sync: 4) ? UTI.avchd : nil
  }

  private static func isStream(_ bytes: FirstBytes, packet: Int, sync: Int) -> Bool {
    (0..<packets).allSatisfy { index in
      let start = index * packet + sync
      // `adaptation_field_control` of 00 is reserved.
      return bytes[start] == 0x47 && bytes[start + 3].map { $0 & 0x30 != 0 } == true
    }
  }
}

/// AC-3 and Enhanced AC-3 (ETSI TS 102 366, §4.3 and annex E): frames with the same first two
/// bytes, distinguished by the version of the bit stream.
enum AC3 {
  static func type(_ bytes: FirstBytes) -> String? {
    guard let (type, size) = frame(bytes, at: 0) else { return nil }
    // The next frame has to begin where this one ends.
    return frame(bytes, at: size)?.type == type ? type : nil
  }

  /// The bit rates in kbit/s, by half of `frmsizecod` (table 4.13).
  private static let bitRates = [
    32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640,
  ]

  private static func frame(_ bytes: FirstBytes, at offset: Int) -> (type: String, size: Int)? {
    guard bytes.has([0x0B, 0x77], at: offset), let rates = bytes[offset + 4],
      let version = bytes[offset + 5].map({ $0 >> 3 })
    else { return nil }
    switch version {
    // 9 and 10 halve and quarter the sampling rate in practice.
    case 0...10:
      let code = Int(rates & 0x3F)
      guard code < 2 * bitRates.count else { return nil }
      let rate = bitRates[code / 2]
      // A frame is 1,536 samples: of 48, 44.1 and 32 kHz.
      switch rates >> 6 {
      case 0: return (UTI.ac3, 2 * rate * 2)
      case 1: return (UTI.ac3, 2 * (rate * 96_000 / 44_100 + code % 2))
      case 2: return (UTI.ac3, 2 * rate * 3)
      default: return nil
      }
    case 11...16:
      guard let field = bytes.integer(at: offset + 2, size: 2) else { return nil }
      return (UTI.eac3, 2 * (field & 0x7FF) + 2)
    default: return nil
    }
  }
}
