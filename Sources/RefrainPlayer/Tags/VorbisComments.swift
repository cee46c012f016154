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
    guard var comments = try Comments(in: bytes, from: start, to: end) else { return fields }
    while let place = try comments.next() {
      let size = place.upperBound - place.lowerBound
      // A comment of any other length is no short text.
      if size <= TagText.limit, let comment = try bytes.bytes(Int(size), at: place.lowerBound) {
        read(comment, &fields)
      }
    }
    return fields
  }

  /// The places of the comments, one after the other.
  struct Comments {
    private let bytes: TagBytes
    private var place: Int64
    private let end: Int64
    /// The number of comments that are still looked at.
    private var left: Int64

    /// Returns nil if there is no list of comments.
    init?(in bytes: TagBytes, from start: Int64, to end: Int64) throws(TagBytes.Missing) {
      guard let vendor = try VorbisComments.number(in: bytes, at: start, end),
        let list = (start + 4).plus(vendor),
        let count = try VorbisComments.number(in: bytes, at: list, end)
      else { return nil }
      (self.bytes, self.end, place) = (bytes, end, list + 4)
      left = min(count, Int64(VorbisComments.mostComments))
    }

    /// Returns nil at the end, and where a comment reaches beyond it.
    mutating func next() throws(TagBytes.Missing) -> Range<Int64>? {
      guard left > 0, let size = try VorbisComments.number(in: bytes, at: place, end),
        let next = (place + 4).plus(size), next <= end
      else { return nil }
      left -= 1
      defer { place = next }
      return (place + 4)..<next
    }
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
