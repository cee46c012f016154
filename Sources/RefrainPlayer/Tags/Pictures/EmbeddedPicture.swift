// SPDX-License-Identifier: MIT

/// The picture in a media: of its front cover, otherwise the first one.
///
/// Parsers look at the head of each picture, and ask for the bytes of the chosen one alone.
enum EmbeddedPicture {
  /// The most bytes of a picture; larger ones are skipped.
  static let limit = 8 << 20
  /// The most bytes that a parser asks for at once: a picture and its head.
  static let mostAtOnce = limit + TagBytes.usualMostAtOnce

  /// The type of a front cover (ID3v2.4.0-frames §4.14, RFC 9639 §8.8).
  static let frontCover: UInt8 = 3

  /// Returns the picture in the media, as a file of it would be; nil: there is none that desktops
  /// show.
  ///
  /// - Parameter bytes: with `mostAtOnce`.
  /// - Throws: `TagBytes.Missing` if more bytes are needed.
  static func picture(in bytes: TagBytes) throws(TagBytes.Missing) -> [UInt8]? {
    switch try TagFormat.kind(in: bytes, at: 0) {
    case .id3:
      if let picture = try ID3v2.picture(in: bytes, at: 0) { return picture }
      guard let end = try ID3v2.end(in: bytes, at: 0),
        try TagFormat.isFLAC(bytes, behindTag: end)
      else { return nil }
      return try FLACTags.picture(in: bytes, at: end)
    case .flac: return try FLACTags.picture(in: bytes, at: 0)
    case .ogg: return try OggTags.picture(in: bytes)
    case .wave: return try ChunkTags(isBigEndian: false).picture(in: bytes)
    case .aiff: return try ChunkTags(isBigEndian: true).picture(in: bytes)
    case .mp4: return try MP4Tags.picture(in: bytes)
    case .mpeg, nil: return nil
    }
  }
}
