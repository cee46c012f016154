// SPDX-License-Identifier: MIT

/// Vorbis comments (xiph.org/vorbis/doc/v-comment.html), as FLAC, Vorbis, Opus and Speex have them.
enum VorbisComments {
  /// The most comments that are looked at.
  private static let mostComments = 1024

  /// Returns what was found up to `end`, or up to where the comments contradict themselves.
  static func fields(
    in bytes: TagBytes, from start: Int64, to end: Int64
  ) throws(TagBytes.Missing) -> TagFields {
    var fields = TagFields()
    guard let vendor = try number(in: bytes, at: start, end),
      let list = (start + 4).plus(vendor), let count = try number(in: bytes, at: list, end)
    else { return fields }
    var place = list + 4
    for _ in 0..<min(count, Int64(mostComments)) {
      guard let size = try number(in: bytes, at: place, end), let next = (place + 4).plus(size),
        next <= end
      else { break }
      // A comment of any other length is no short text.
      if size <= TagText.limit, let comment = try bytes.bytes(Int(size), at: place + 4) {
        read(comment, &fields)
      }
      place = next
    }
    return fields
  }

  private static func number(
    in bytes: TagBytes, at place: Int64, _ end: Int64
  ) throws(TagBytes.Missing) -> Int64? {
    guard let behind = place.plus(4), behind <= end else { return nil }
    return try bytes.bytes(4, at: place).map { Int64($0.littleEndian) }
  }

  private static func read(_ comment: ArraySlice<UInt8>, _ fields: inout TagFields) {
    guard let equals = comment.firstIndex(of: UInt8(ascii: "=")) else { return }
    let key = String(decoding: comment[..<equals], as: UTF8.self).uppercased()
    let value = TagText.decoded(comment[(equals + 1)...], .utf8)
    switch key {
    case "TITLE": fields.add(value, as: .title)
    case "ARTIST": fields.append(value, as: .artist)
    case "ALBUM": fields.add(value, as: .album)
    case "ALBUMARTIST", "ALBUM ARTIST", "ALBUM_ARTIST": fields.append(value, as: .albumArtist)
    default: break
    }
  }
}

/// FLAC (RFC 9639 §8): the comments are one of the metadata blocks. Pictures are skipped.
enum FLACTags {
  private static let mostBlocks = 128
  private static let comments: UInt8 = 4

  static func fields(in bytes: TagBytes, at start: Int64) throws(TagBytes.Missing) -> TagFields {
    guard var place = start.plus(4) else { return TagFields() }
    for _ in 0..<mostBlocks {
      guard let head = try bytes.bytes(4, at: place), let kind = head.first else { break }
      let size = Int64(head.dropFirst().bigEndian)
      guard let next = (place + 4).plus(size) else { break }
      if kind & 0x7F == comments {
        return try VorbisComments.fields(in: bytes, from: place + 4, to: next)
      }
      if kind & 0x80 != 0 { break }
      place = next
    }
    return TagFields()
  }
}
