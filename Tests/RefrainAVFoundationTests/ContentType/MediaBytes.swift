// SPDX-License-Identifier: MIT

import Testing

/// First bytes under a name, for the test log.
struct NamedBytes: Sendable, CustomTestStringConvertible {
  let name: String
  let bytes: [UInt8]
  /// The expected type; nil: unknown.
  let type: String?

  init(_ name: String, _ bytes: [UInt8], _ type: String? = nil) {
    (self.name, self.bytes, self.type) = (name, bytes, type)
  }

  var testDescription: String { name }
}

/// First bytes of media files, assembled by hand from the specifications of their formats.
enum MediaBytes {
  static func text(_ text: String) -> [UInt8] { Array(text.utf8) }

  static func bigEndian(_ value: Int, _ size: Int = 4) -> [UInt8] {
    (0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
  }

  // MARK: Boxes and chunks

  static func box(_ name: String, _ content: [UInt8] = []) -> [UInt8] {
    bigEndian(content.count + 8) + text(name) + content
  }

  static func fileType(_ major: String, _ compatible: [String] = []) -> [UInt8] {
    box("ftyp", text(major) + [0, 0, 2, 0] + compatible.flatMap(text))
      + box("moov", [UInt8](repeating: 0, count: 100))
  }

  static func riff(_ form: String, _ id: String = "RIFF") -> [UInt8] {
    text(id) + [0x24, 0, 0, 0] + text(form) + text("fmt ") + [16, 0, 0, 0]
  }

  static func form(_ type: String) -> [UInt8] { text("FORM") + bigEndian(1000) + text(type) }

  // MARK: Frames

  /// Returns frames of zeros, each after a header.
  static func frames(_ header: [UInt8], size: Int, count: Int = 4) -> [UInt8] {
    let frame = header + [UInt8](repeating: 0, count: size - header.count)
    return [[UInt8]](repeating: frame, count: count).flatMap { $0 }
  }

  /// MPEG-1 layer III, 128 kbit/s, 44.1 kHz: 417 bytes.
  static let mp3 = frames([0xFF, 0xFB, 0x90, 0x64], size: 417)
  /// MPEG-1 layer III, 320 kbit/s, 32 kHz, the longest: 1,440 bytes.
  static let longMP3 = frames([0xFF, 0xFB, 0xE8, 0x64], size: 1440)
  /// MPEG-2 layer III, 64 kbit/s, 22.05 kHz: 208 bytes.
  static let mpeg2Layer3 = frames([0xFF, 0xF3, 0x80, 0xC4], size: 208)
  /// MPEG-2.5 layer III, 16 kbit/s, 11.025 kHz: 104 bytes.
  static let mpeg25Layer3 = frames([0xFF, 0xE3, 0x20, 0xC4], size: 104)

  /// ADTS: AAC LC, 44.1 kHz, stereo.
  static func adts(size: Int = 371, count: Int = 4) -> [UInt8] {
    let header: [UInt8] = [
      0xFF, 0xF1, 0x50, 0x80 | UInt8(size >> 11), UInt8(size >> 3 & 0xFF),
      UInt8(size & 7) << 5 | 0x1F, 0xFC,
    ]
    return frames(header, size: size, count: count)
  }

  static func id3(_ content: Int) -> [UInt8] {
    let size = [21, 14, 7, 0].map { UInt8(content >> $0 & 0x7F) }
    return text("ID3") + [3, 0, 0] + size + [UInt8](repeating: 0x41, count: content)
  }
}
