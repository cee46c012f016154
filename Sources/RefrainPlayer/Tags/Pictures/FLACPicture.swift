// SPDX-License-Identifier: MIT
import Foundation

/// A picture as FLAC has it (RFC 9639 §8.8), and Vorbis comments have it in Base64.
struct FLACPicture: Sendable, Hashable {
  var isFrontCover: Bool
  /// The bytes of the picture itself.
  var range: Range<Int64>

  /// Returns the picture at `start`; nil if it reaches beyond `end`, is too large, or is none that
  /// desktops show, as where a URL stands in its place.
  static func find(
    in bytes: TagBytes, from start: Int64, to end: Int64
  ) throws(TagBytes.Missing) -> FLACPicture? {
    func number(at place: Int64?) throws(TagBytes.Missing) -> Int64? {
      guard let place, let behind = place.plus(4), behind <= end else { return nil }
      return try bytes.bytes(4, at: place).map { Int64($0.bigEndian) }
    }
    // Behind the type and the media type, the description, and four numbers.
    guard let type = try number(at: start), let mediaType = try number(at: start.plus(4)),
      let description = start.plus(8 + mediaType), let length = try number(at: description),
      let numbers = description.plus(4 + length), let size = try number(at: numbers.plus(16)),
      size <= Int64(EmbeddedPicture.limit), let body = numbers.plus(20),
      let behind = body.plus(size), behind <= end,
      let beginning = try bytes.bytes(Int(min(size, Int64(PictureFormat.decisive))), at: body),
      PictureFormat(beginning: beginning) != nil
    else { return nil }
    return FLACPicture(
      isFrontCover: type == Int64(EmbeddedPicture.frontCover), range: body..<behind)
  }

  func content(in bytes: TagBytes) throws(TagBytes.Missing) -> [UInt8]? {
    try bytes.bytes(Int(range.upperBound - range.lowerBound), at: range.lowerBound)
      .map(Array.init)
  }
}

extension VorbisComments {
  /// The key of comments that are pictures, with the sign behind it
  /// (wiki.xiph.org/VorbisComment#METADATA_BLOCK_PICTURE).
  private static let pictureKey = "METADATA_BLOCK_PICTURE="

  /// Returns the picture of a packet of comments.
  ///
  /// - Parameter start: where the comments begin.
  static func picture(in packet: [UInt8], from start: Int64) throws(TagBytes.Missing) -> [UInt8]? {
    // As all bytes are there, nothing is thrown.
    let bytes = TagBytes(packet, mostAtOnce: packet.count)
    var comments = try Comments(in: bytes, from: start, to: Int64(packet.count))
    var other: [UInt8]?
    while let comment = try comments?.next() {
      let count = pictureKey.utf8.count
      guard comment.upperBound - comment.lowerBound > count,
        let text = try bytes.bytes(
          Int(comment.upperBound - comment.lowerBound), at: comment.lowerBound),
        String(decoding: text.prefix(count), as: UTF8.self).uppercased() == pictureKey,
        let block = Data(base64Encoded: Data(text.dropFirst(count)))
      else { continue }
      let content = TagBytes([UInt8](block), mostAtOnce: block.count)
      guard let picture = try FLACPicture.find(in: content, from: 0, to: Int64(block.count))
      else { continue }
      if picture.isFrontCover { return try picture.content(in: content) }
      if other == nil { other = try picture.content(in: content) }
    }
    return other
  }
}
