// SPDX-License-Identifier: MIT

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
