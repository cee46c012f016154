// SPDX-License-Identifier: MIT

/// The frames of a tag of ID3v2, one after the other.
struct ID3Frames {
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
  /// Whether each frame is unsynchronized by itself, whatever its flags are (version 2.4).
  var isUnsynchronized = false

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

  /// Returns nil for a text that cannot be read.
  func text(of frame: Frame) throws(TagBytes.Missing) -> String? {
    guard let content = try content(of: frame, upTo: TagText.limit),
      let encoding = content.first.flatMap(TagText.Encoding.init)
    else { return nil }
    return TagText.decoded(content.dropFirst(), encoding)
  }

  /// Returns the first bytes of a frame's content, decoded; nil if it is empty, compressed or
  /// encrypted, or is not going to be read.
  ///
  /// - Parameter count: the most bytes that are read, before they are decoded.
  func content(of frame: Frame, upTo count: Int) throws(TagBytes.Missing) -> ArraySlice<UInt8>? {
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
    guard size > 0,
      let content = try bytes.bytes(
        Int(min(size, Int64(count))), at: body, isOptional: isOptional)
    else { return nil }
    let isSeparated = version == 4 && (isUnsynchronized || frame.flags & 0x02 != 0)
    return isSeparated ? ID3v2.synchronized(content)[...] : content
  }
}
