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
  private static let mostFrames = 1024

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
    guard let header = try header(in: bytes, at: start, isOptional: isOptional),
      let body = start.plus(headerLength), let end = body.plus(header.size)
    else { return TagFields() }
    // Of version 2.2, this flag means an unspecified compression.
    if header.version == 2, header.flags & 0x40 != 0 { return TagFields() }
    var frames = Frames(
      bytes: bytes, place: body, end: end, version: header.version, isOptional: isOptional)
    if header.version < 4, header.flags & 0x80 != 0 {
      // The sizes of frames are those before unsynchronization.
      let count = Int(min(header.size, Int64(TagBytes.mostAtOnce)))
      guard
        let part = try bytes.bytes(
          bytes.length.map { min(count, Int(max(0, $0 - body))) } ?? count, at: body,
          isOptional: isOptional)
      else { return TagFields() }
      let decoded = synchronized(part)
      frames = Frames(
        bytes: TagBytes(decoded), place: 0, end: Int64(decoded.count), version: header.version,
        isOptional: false)
    }
    if header.version > 2, header.flags & 0x40 != 0 { try frames.skipExtendedHeader() }
    var fields = TagFields()
    for _ in 0..<mostFrames where !fields.isComplete {
      guard let frame = try frames.next() else { break }
      guard let name = names[frame.id] else { continue }
      fields.add(try frames.text(of: frame), as: name)
    }
    return fields
  }

  private static let names: [String: TagFields.Name] = [
    "TIT2": .title, "TT2": .title, "TPE1": .artist, "TP1": .artist, "TALB": .album, "TAL": .album,
    "TPE2": .albumArtist, "TP2": .albumArtist,
  ]

  /// Returns a number of seven bits per byte; nil if it is none.
  fileprivate static func synchsafe(_ bytes: some Collection<UInt8>) -> Int64? {
    guard bytes.allSatisfy({ $0 < 0x80 }) else { return nil }
    return bytes.reduce(0) { $0 << 7 | Int64($1) }
  }

  /// Removes the zeros that unsynchronization has inserted.
  fileprivate static func synchronized(_ bytes: some Collection<UInt8>) -> [UInt8] {
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

/// The frames of a tag, one after the other.
private struct Frames {
  struct Frame {
    var id: String
    var body: Int64
    var size: Int64
    var flags: UInt8 = 0
  }

  let bytes: TagBytes
  var place: Int64
  let end: Int64
  let version: UInt8
  let isOptional: Bool

  private var headerLength: Int { version == 2 ? 6 : 10 }

  mutating func skipExtendedHeader() throws(TagBytes.Missing) {
    guard let head = try bytes.bytes(4, at: place, isOptional: isOptional) else { return }
    // Version 2.4 counts the size itself, 2.3 does not.
    let size = version == 4 ? ID3v2.synchsafe(head) ?? 0 : Int64(head.bigEndian) + 4
    place = place.plus(size) ?? end
  }

  /// Returns nil at the end, and where no frame begins.
  mutating func next() throws(TagBytes.Missing) -> Frame? {
    guard let head = try head(at: place).map(Array.init) else { return nil }
    let length = Int64(headerLength)
    let isLong = version > 2
    let id = String(decoding: head[..<(isLong ? 4 : 3)], as: UTF8.self)
    let digits = isLong ? head[4..<8] : head[3..<6]
    var size = Int64(digits.bigEndian)
    if version == 4, let safe = ID3v2.synchsafe(digits), safe != size {
      // Some programs have written plain sizes.
      let isSafe = try isFrame(at: place + length + safe)
      let isPlain = try isFrame(at: place + length + size)
      if isSafe || !isPlain { size = safe }
    }
    guard let behind = (place + length).plus(size), behind <= end else { return nil }
    let frame = Frame(id: id, body: place + length, size: size, flags: isLong ? head[9] : 0)
    place = behind
    return frame
  }

  private func head(at place: Int64) throws(TagBytes.Missing) -> ArraySlice<UInt8>? {
    guard let behind = place.plus(Int64(headerLength)), behind <= end,
      let head = try bytes.bytes(headerLength, at: place, isOptional: isOptional),
      head.prefix(version == 2 ? 3 : 4).allSatisfy({
        (0x41...0x5A).contains($0) || (0x30...0x39).contains($0)
      })
    else { return nil }
    return head
  }

  /// Whether a frame, or padding, begins at a place, or the tag ends there.
  private func isFrame(at place: Int64) throws(TagBytes.Missing) -> Bool {
    if place == end { return true }
    guard place < end else { return false }
    if try head(at: place) != nil { return true }
    return try bytes.bytes(1, at: place, isOptional: isOptional)?.first == 0
  }

  /// Returns nil for a text that is compressed or encrypted.
  func text(of frame: Frame) throws(TagBytes.Missing) -> String? {
    var (body, size) = (frame.body, frame.size)
    func skip(_ count: Int64) { (body, size) = (body + count, size - count) }
    switch version {
    case 3:
      if frame.flags & 0xC0 != 0 { return nil }
      if frame.flags & 0x20 != 0 { skip(1) }
    case 4:
      if frame.flags & 0x0C != 0 { return nil }
      if frame.flags & 0x40 != 0 { skip(1) }
      if frame.flags & 0x01 != 0 { skip(4) }
    default: break
    }
    guard size > 1,
      var content = try bytes.bytes(
        Int(min(size, Int64(TagText.limit))), at: body, isOptional: isOptional)
    else { return nil }
    if version == 4, frame.flags & 0x02 != 0 { content = ID3v2.synchronized(content)[...] }
    guard let encoding = content.first.flatMap(TagText.Encoding.init) else { return nil }
    return TagText.decoded(content.dropFirst(), encoding)
  }
}
