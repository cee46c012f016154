// SPDX-License-Identifier: MIT

/// Determines the type of a resource as AVFoundation expects it: a Uniform Type Identifier (UTI),
/// not a MIME type.
///
/// The origin's MIME type, corrected by the URL's extension, declares the type. If neither declares
/// one, the first bytes determine it.
enum ContentType {
  /// Returns the type of a resource whose first bytes are available.
  ///
  /// A declared type takes precedence over the bytes: its author knew the resource, and a player
  /// may know it already by another path. The bytes decide if it is generic, missing or unknown.
  static func of(
    mimeType: String?, pathExtension: String, firstBytes: some Collection<UInt8>
  ) -> String? {
    declared(mimeType: mimeType, pathExtension: pathExtension) ?? sniffed(firstBytes)
  }

  /// Returns whether the type is a playlist. AVFoundation plays those of HLS, whose segments cannot
  /// come through a resource loader.
  ///
  /// UTCoreTypes.h has one type for both `.m3u` and `.m3u8`, `UTType.m3uPlaylist`.
  static func isPlaylist(_ type: String) -> Bool { type == UTI.m3uPlaylist }
}

/// The identifiers used here.
///
/// They come from UTCoreTypes.h (UniformTypeIdentifiers) and AVMediaFormat.h (`AVFileType`) if
/// those name the format, others from Apple's "System-Declared Uniform Type Identifiers". Those of
/// Xiph.Org, WebM and Matroska are in none of these: programs that play the formats declare them.
enum UTI {
  static let mp3 = "public.mp3"
  static let mp2 = "public.mp2"
  static let aac = "public.aac-audio"
  static let ac3 = "public.ac3-audio"
  static let eac3 = "public.enhanced-ac3-audio"
  static let amr = "org.3gpp.adaptive-multi-rate-audio"

  static let mpeg4 = "public.mpeg-4"
  static let mpeg4Audio = "public.mpeg-4-audio"
  static let m4a = "com.apple.m4a-audio"
  static let m4v = "com.apple.m4v-video"
  static let protectedM4A = "com.apple.protected-mpeg-4-audio"
  static let protectedM4B = "com.apple.protected-mpeg-4-audio-b"
  static let protectedM4V = "com.apple.protected-mpeg-4-video"
  static let ringtone = "com.apple.mpeg-4-ringtone"
  static let quickTime = "com.apple.quicktime-movie"
  static let quickTimeAudio = "com.apple.quicktime-audio"
  static let mobile3GPP = "public.3gpp"
  static let mobile3GPP2 = "public.3gpp2"

  static let wav = "com.microsoft.waveform-audio"
  static let aiff = "public.aiff-audio"
  static let aifc = "public.aifc-audio"
  static let caf = "com.apple.coreaudio-format"
  static let au = "public.au-audio"
  static let flac = "org.xiph.flac"
  static let ogg = "org.xiph.ogg-audio"
  static let ogv = "org.xiph.ogv"
  static let webm = "org.webmproject.webm"
  static let matroska = "org.matroska.mkv"
  static let avi = "public.avi"
  static let mpeg = "public.mpeg"
  static let transportStream = "public.mpeg-2-transport-stream"
  static let avchd = "public.avchd-mpeg-2-transport-stream"

  static let m3uPlaylist = "public.m3u-playlist"
}
