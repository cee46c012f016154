// SPDX-License-Identifier: MIT

/// ID3v2 (id3.org: id3v2-00, id3v2.3.0, id3v2.4.0-structure), in front of MP3 and in chunks of RIFF
/// and AIFF.
enum ID3v2 {
  private struct Header {
    var version: UInt8
    var flags: UInt8
    var size: Int64
  }

  private static let headerLength: Int64 = 10
  /// The most frames that are looked at.
  static let mostFrames = 1024

  private static func header(
    in bytes: TagBytes, at start: Int64, isOptional: Bool
  ) throws(TagBytes.Missing) -> Header? {
    guard let head = try bytes.bytes(10, at: start, isOptional: isOptional).map(Array.init),
      head.prefix(3).isText("ID3"), (2...4).contains(head[3]), head[4] != 0xFF,
      let size = synchsafe(head[6...])
    else { return nil }
    return Header(version: head[3], flags: head[5], size: size)
  }

  /// Returns the offset behind a tag; nil if there is none.
  static func end(in bytes: TagBytes, at start: Int64) throws(TagBytes.Missing) -> Int64? {
    guard let header = try header(in: bytes, at: start, isOptional: false) else { return nil }
    let hasFooter = header.version == 4 && header.flags & 0x10 != 0
    return start.plus(headerLength + header.size + (hasFooter ? 10 : 0))
  }

  /// - Parameter isOptional: whether the tag is worth reading only if that costs no request.
  static func fields(
    in bytes: TagBytes, at start: Int64, isOptional: Bool = false
  ) throws(TagBytes.Missing) -> TagFields {
    var fields = TagFields()
    guard var frames = try frames(in: bytes, at: start, isOptional: isOptional) else {
      return fields
    }
    for _ in 0..<mostFrames where !fields.isComplete {
      guard let frame = try frames.next() else { break }
      guard let name = names[frame.id] else { continue }
      fields.add(try frames.text(of: frame), as: name)
    }
    return fields
  }

  /// Returns the frames of a tag; nil if there is none that can be read.
  ///
  /// - Parameter isOptional: whether the tag is worth reading only if that costs no request.
  static func frames(
    in bytes: TagBytes, at start: Int64, isOptional: Bool
  ) throws(TagBytes.Missing) -> ID3Frames? {
    guard let header = try header(in: bytes, at: start, isOptional: isOptional),
      let body = start.plus(headerLength), let end = body.plus(header.size)
    else { return nil }
    // Of version 2.2, this flag means an unspecified compression.
    if header.version == 2, header.flags & 0x40 != 0 { return nil }
    let isUnsynchronized = header.flags & 0x80 != 0
    var frames = ID3Frames(
      bytes: bytes, place: body, end: end, version: header.version, isOptional: isOptional)
    if header.version == 4 {
      // The sizes of frames are those after unsynchronization.
      frames.isUnsynchronized = isUnsynchronized
    } else if isUnsynchronized {
      // The sizes of frames are those before unsynchronization.
      let count = Int(min(header.size, Int64(bytes.mostAtOnce)))
      guard
        let part = try bytes.bytes(
          bytes.length.map { min(count, Int(max(0, $0 - body))) } ?? count, at: body,
          isOptional: isOptional)
      else { return nil }
      let decoded = synchronized(part)
      frames = ID3Frames(
        bytes: TagBytes(decoded, mostAtOnce: bytes.mostAtOnce), place: 0,
        end: Int64(decoded.count), version: header.version, isOptional: false)
    }
    if header.version > 2, header.flags & 0x40 != 0 { try frames.skipExtendedHeader() }
    return frames
  }

  private static let names: [String: TagFields.Name] = [
    "TIT2": .title, "TT2": .title, "TPE1": .artist, "TP1": .artist, "TALB": .album, "TAL": .album,
    "TPE2": .albumArtist, "TP2": .albumArtist,
  ]

  /// Returns a number of seven bits per byte; nil if it is none.
  static func synchsafe(_ bytes: some Collection<UInt8>) -> Int64? {
    guard bytes.allSatisfy({ $0 < 0x80 }) else { return nil }
    return bytes.reduce(0) { $0 << 7 | Int64($1) }
  }

  /// Removes the zeros that unsynchronization has inserted.
  static func synchronized(_ bytes: some Collection<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var isBehindFF = false
    for byte in bytes {
      if !(isBehindFF && byte == 0) { result.append(byte) }
      isBehindFF = byte == 0xFF
    }
    return result
  }
}
