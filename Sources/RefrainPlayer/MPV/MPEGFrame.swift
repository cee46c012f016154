// SPDX-License-Identifier: MIT

/// The header of a frame of MPEG audio: layers I to III (ISO/IEC 11172-3 §2.4.1.3, 13818-3), and
/// AAC in ADTS (13818-7 §6.2). A pure value.
struct MPEGFrame: Sendable {
  /// The fields that stay the same from frame to frame.
  struct Kind: Sendable, Equatable {
    var version: UInt8
    var layer: UInt8
    var rate: Int
  }

  var kind: Kind
  /// In bytes, with the header.
  var length: Int

  /// The bytes of the longer of the two headers.
  static let headerLength = 7

  /// Parses the header at an index; nil: there is none. At least `headerLength` bytes follow.
  static func parse(_ bytes: [UInt8], at index: Int) -> MPEGFrame? {
    guard bytes[index] == 0xFF, bytes[index + 1] & 0xE0 == 0xE0 else { return nil }
    let (second, third) = (bytes[index + 1], bytes[index + 2])
    let (version, layer) = (second >> 3 & 3, second >> 1 & 3)
    guard layer != 0 else { return parseADTS(bytes, at: index) }
    let (bits, rates) = (Int(third >> 4), Int(third >> 2 & 3))
    guard version != 1, (1...14).contains(bits), rates < 3 else { return nil }
    let isFirst = version == 3
    let rate = [44_100, 48_000, 32_000][rates] / (isFirst ? 1 : version == 2 ? 2 : 4)
    let padding = Int(third >> 1 & 1)
    let bitrate = bitrates(isFirst: isFirst, layer: layer)[bits - 1] * 1000
    let length =
      switch layer {
      case 3: (12 * bitrate / rate + padding) * 4
      case 1 where !isFirst: 72 * bitrate / rate + padding
      default: 144 * bitrate / rate + padding
      }
    return MPEGFrame(kind: Kind(version: version, layer: layer, rate: rate), length: length)
  }

  private static func parseADTS(_ bytes: [UInt8], at index: Int) -> MPEGFrame? {
    let rates = [
      96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025,
      8000, 7350,
    ]
    let rate = Int(bytes[index + 2] >> 2 & 15)
    guard bytes[index + 1] & 0xF6 == 0xF0, rates.indices.contains(rate) else { return nil }
    let length =
      Int(bytes[index + 3] & 3) << 11 | Int(bytes[index + 4]) << 3 | Int(bytes[index + 5] >> 5)
    guard length > headerLength else { return nil }
    return MPEGFrame(
      kind: Kind(version: bytes[index + 1] >> 3 & 1, layer: 0, rate: rates[rate]), length: length)
  }

  /// In kbit/s, from index 1 on.
  private static func bitrates(isFirst: Bool, layer: UInt8) -> [Int] {
    switch (isFirst, layer) {
    case (true, 3): [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448]
    case (true, 2): [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384]
    case (true, _): [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]
    case (false, 3): [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256]
    case (false, _): [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]
    }
  }
}
