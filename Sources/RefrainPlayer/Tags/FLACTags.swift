// SPDX-License-Identifier: MIT

/// FLAC (RFC 9639 §8): the comments are one of the metadata blocks, and so is each picture.
enum FLACTags {
  static func fields(in bytes: TagBytes, at start: Int64) throws(TagBytes.Missing) -> TagFields {
    var blocks = Blocks(bytes: bytes, place: start.plus(4))
    while let block = try blocks.next() {
      guard block.kind == Blocks.comments else { continue }
      return try VorbisComments.fields(in: bytes, from: block.body, to: block.end)
    }
    return TagFields()
  }

  static func picture(in bytes: TagBytes, at start: Int64) throws(TagBytes.Missing) -> [UInt8]? {
    var blocks = Blocks(bytes: bytes, place: start.plus(4))
    var other: FLACPicture?
    while let block = try blocks.next() {
      guard block.kind == Blocks.picture,
        let picture = try FLACPicture.find(in: bytes, from: block.body, to: block.end)
      else { continue }
      if picture.isFrontCover { return try picture.content(in: bytes) }
      if other == nil { other = picture }
    }
    return try other?.content(in: bytes)
  }

  /// The metadata blocks, one after the other.
  private struct Blocks {
    static let comments: UInt8 = 4
    static let picture: UInt8 = 6

    let bytes: TagBytes
    /// Nil behind the last one.
    var place: Int64?
    /// The number of blocks that are still looked at.
    private var left = 128

    init(bytes: TagBytes, place: Int64?) { (self.bytes, self.place) = (bytes, place) }

    mutating func next() throws(TagBytes.Missing) -> (kind: UInt8, body: Int64, end: Int64)? {
      guard left > 0, let start = place, let head = try bytes.bytes(4, at: start),
        let kind = head.first, let end = (start + 4).plus(Int64(head.dropFirst().bigEndian))
      else { return nil }
      left -= 1
      place = kind & 0x80 == 0 ? end : nil
      return (kind & 0x7F, start + 4, end)
    }
  }
}
