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

  static func box(_ name: String, _ content: [UInt8] = [], size: Int? = nil) -> [UInt8] {
    bigEndian(size ?? content.count + 8) + text(name) + content
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
  /// MPEG-1 layer II, 192 kbit/s, 48 kHz: 576 bytes.
  static let mp2 = frames([0xFF, 0xFD, 0xA4, 0x00], size: 576)

  /// ADTS: AAC LC, 44.1 kHz, stereo.
  static func adts(size: Int = 371, count: Int = 4) -> [UInt8] {
    let header: [UInt8] = [
      0xFF, 0xF1, 0x50, 0x80 | UInt8(size >> 11), UInt8(size >> 3 & 0xFF),
      UInt8(size & 7) << 5 | 0x1F, 0xFC,
    ]
    return frames(header, size: size, count: count)
  }

  /// AC-3, 48 kHz, 192 kbit/s: 768 bytes.
  static let ac3 = frames([0x0B, 0x77, 0x12, 0x34, 0x14, 0x40], size: 768)
  /// E-AC-3, 384 words.
  static let eac3 = frames([0x0B, 0x77, 0x01, 0x7F, 0x3F, 0x80], size: 768)

  static func id3(_ content: Int, version: UInt8 = 3, flags: UInt8 = 0) -> [UInt8] {
    let size = [21, 14, 7, 0].map { UInt8(content >> $0 & 0x7F) }
    return text("ID3") + [version, 0, flags] + size + [UInt8](repeating: 0x41, count: content)
  }

  static func packets(_ size: Int, sync: Int, count: Int = 8) -> [UInt8] {
    var packet = [UInt8](repeating: 0xFF, count: size)
    packet.replaceSubrange(sync..<(sync + 4), with: [0x47, 0x40, 0x11, 0x10])
    return [[UInt8]](repeating: packet, count: count).flatMap { $0 }
  }

  // MARK: Ogg, Matroska

  static func oggPage(_ packet: [UInt8], flags: UInt8 = 2) -> [UInt8] {
    text("OggS") + [0, flags] + [UInt8](repeating: 0, count: 20) + [1, UInt8(packet.count)]
      + packet
  }

  static let vorbis = [1] + text("vorbis") + [UInt8](repeating: 0, count: 23)
  static let opus = text("OpusHead") + [1, 2] + [UInt8](repeating: 0, count: 9)
  static let oggFLAC = [0x7F] + text("FLAC") + [1, 0, 0, 1] + text("fLaC")
  static let theora = [0x80] + text("theora") + [3, 2, 1]

  /// Returns a header as ffmpeg writes it, with sizes of eight bytes.
  static func ebml(_ documentType: String) -> [UInt8] {
    let elements: [UInt8] =
      [0x42, 0x86, 0x81, 1, 0x42, 0xF7, 0x81, 1, 0x42, 0xF2, 0x81, 4, 0x42, 0xF3, 0x81, 8]
      + [0x42, 0x82, 0x80 | UInt8(documentType.utf8.count)] + text(documentType)
      + [0x42, 0x87, 0x81, 4]
    return [0x1A, 0x45, 0xDF, 0xA3, 0x01] + bigEndian(elements.count, 7) + elements
      + [0x18, 0x53, 0x80, 0x67]
  }
}
