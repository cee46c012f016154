// SPDX-License-Identifier: MIT
import Foundation

/// The formats of media whose tags are read. The first bytes decide, not the name.
enum TagFormat {
  /// Whether a name has the extension of media whose tags are at the beginning.
  static func isNamed(_ url: URL) -> Bool { extensions.contains(url.pathExtension.lowercased()) }

  private static let extensions: Set<String> = [
    "3gp", "aac", "aif", "aifc", "aiff", "alac", "flac", "m4a", "m4b", "m4r", "m4v", "mov", "mp2",
    "mp3", "mp4", "mpga", "oga", "ogg", "ogv", "opus", "spx", "wav",
  ]

  /// Returns what the tags of a media say; nil: nothing.
  ///
  /// - Throws: `TagBytes.Missing` if more bytes are needed.
  static func metadata(in bytes: TagBytes) throws(TagBytes.Missing) -> MediaMetadata? {
    try fields(in: bytes, at: 0).metadata
  }

  /// What the first bytes of a media show.
  enum Kind {
    /// A tag of ID3v2, with MPEG audio or FLAC behind it.
    case id3
    case flac, ogg, wave, aiff, mp4
    /// MPEG audio without a tag in front.
    case mpeg
  }

  /// Returns nil for any other format.
  static func kind(in bytes: TagBytes, at start: Int64) throws(TagBytes.Missing) -> Kind? {
    guard let head = try bytes.bytes(12, at: start) else { return nil }
    let kind = head.dropFirst(8)
    switch head.prefix(4) {
    case let name where name.prefix(3).isText("ID3"): return .id3
    case let name where name.isText("fLaC"): return .flac
    case let name where name.isText("OggS"): return .ogg
    case let name where name.isText("RIFF") && kind.isText("WAVE"): return .wave
    case let name where name.isText("FORM") && (kind.isText("AIFF") || kind.isText("AIFC")):
      return .aiff
    case _ where head.dropFirst(4).prefix(4).isText("ftyp"): return .mp4
    case let name where name.first == 0xFF && name.dropFirst().first.map { $0 >= 0xE0 } == true:
      return .mpeg
    default: return nil
    }
  }

  /// Whether FLAC follows a tag of ID3v2 that ends at `end`. Looks only where that costs no request.
  static func isFLAC(_ bytes: TagBytes, behindTag end: Int64) throws(TagBytes.Missing) -> Bool {
    try bytes.bytes(4, at: end, isOptional: true)?.isText("fLaC") == true
  }

  private static func fields(
    in bytes: TagBytes, at start: Int64
  ) throws(TagBytes.Missing) -> TagFields {
    switch try kind(in: bytes, at: start) {
    case .id3: return try behindID3(in: bytes, at: start)
    case .flac: return try FLACTags.fields(in: bytes, at: start)
    case .ogg: return try OggTags.fields(in: bytes)
    case .wave: return try ChunkTags(isBigEndian: false).fields(in: bytes)
    case .aiff: return try ChunkTags(isBigEndian: true).fields(in: bytes)
    case .mp4: return try MP4Tags.fields(in: bytes)
    case .mpeg: return try ID3v1.fields(in: bytes)
    case nil: return TagFields()
    }
  }

  /// FLAC and MPEG audio may follow a tag without a title.
  private static func behindID3(
    in bytes: TagBytes, at start: Int64
  ) throws(TagBytes.Missing) -> TagFields {
    var fields = try ID3v2.fields(in: bytes, at: start)
    guard !fields.hasTitle, start == 0, let end = try ID3v2.end(in: bytes, at: start) else {
      return fields
    }
    if try isFLAC(bytes, behindTag: end) {
      fields.add(try FLACTags.fields(in: bytes, at: end))
    } else {
      fields.add(try ID3v1.fields(in: bytes))
    }
    return fields
  }
}
