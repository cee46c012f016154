// SPDX-License-Identifier: MIT

extension ContentType {
  /// The number of first bytes that `sniffed` examines: enough for two frames of MPEG audio or AC-3
  /// (at most 2,881 and 4,096 bytes each), whose headers confirm each other.
  static let sniffLength = 8192

  /// Returns the type that the first bytes of a resource show; nil if they show none, or are too
  /// few. Pass `sniffLength` bytes if possible; fewer may suffice.
  static func sniffed(_ firstBytes: some Collection<UInt8>) -> String? {
    let bytes = FirstBytes(firstBytes, limit: sniffLength)
    return signature(bytes) ?? ISOMedia.type(bytes) ?? Ogg.type(bytes) ?? Matroska.type(bytes)
      ?? TransportStream.type(bytes) ?? AC3.type(bytes) ?? tagged(bytes)
      ?? MPEGAudio.type(bytes, at: 0)
  }

  /// Returns the type of a format that begins with a signature.
  private static func signature(_ bytes: FirstBytes) -> String? {
    // RIFF: RFC 2361; RF64: EBU Tech 3306; BW64: ITU-R BS.2088.
    if bytes.has("RIFF") || bytes.has("RF64") || bytes.has("BW64") {
      if bytes.has("WAVE", at: 8) { return UTI.wav }
      if bytes.has("AVI ", at: 8) { return UTI.avi }
    }
    // Apple, "Audio Interchange File Format" 1.3, and its draft for AIFF-C.
    if bytes.has("FORM") {
      if bytes.has("AIFF", at: 8) { return UTI.aiff }
      if bytes.has("AIFC", at: 8) { return UTI.aifc }
    }
    // RFC 9639 §6: the stream marker.
    if bytes.has("fLaC") { return UTI.flac }
    // Apple, "Core Audio Format Specification": the type and version 1.
    if bytes.has([0x63, 0x61, 0x66, 0x66, 0x00, 0x01]) { return UTI.caf }
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

  var count: Int { bytes.count }

  subscript(offset: Int) -> UInt8? { bytes.indices.contains(offset) ? bytes[offset] : nil }

  /// Returns whether these ASCII characters are at the offset. (`\u{1}` and the like count as
  /// characters.)
  func has(_ text: StaticString, at offset: Int = 0) -> Bool {
    guard offset >= 0, bytes.count - offset >= text.utf8CodeUnitCount else { return false }
    return text.withUTF8Buffer { $0.elementsEqual(bytes[offset..<(offset + $0.count)]) }
  }

  func has(_ other: [UInt8], at offset: Int = 0) -> Bool {
    guard offset >= 0, bytes.count - offset >= other.count else { return false }
    return bytes[offset..<(offset + other.count)].elementsEqual(other)
  }

  /// Returns a big-endian integer of up to seven bytes.
  func integer(at offset: Int, size: Int) -> Int? {
    guard offset >= 0, bytes.count - offset >= size else { return nil }
    return bytes[offset..<(offset + size)].reduce(0) { $0 << 8 | Int($1) }
  }

  /// Returns a four-character code, as ISO/IEC 14496-12 and its relatives use them; nil if it is
  /// not printable ASCII.
  func fourCC(at offset: Int) -> String? {
    guard offset >= 0, bytes.count - offset >= 4 else { return nil }
    let part = bytes[offset..<(offset + 4)]
    return part.allSatisfy { (0x20...0x7E).contains($0) }
      ? String(decoding: part, as: UTF8.self) : nil
  }
}
