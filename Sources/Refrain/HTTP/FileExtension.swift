// SPDX-License-Identifier: MIT
import Foundation

extension MediaType {
  /// Returns the extension for the data file of a resource, for programs that depend on it: one to
  /// eight of `a`…`z`, `0`…`9`, whatever the origin sends.
  ///
  /// The URL's own if it is a media extension; else by the MIME type; else the URL's own if
  /// it is harmless; else `bin`.
  static func fileExtension(mimeType: String?, url: URL) -> String {
    let own = safeExtension(of: url)
    if let own, mediaExtensions.contains(own) { return own }
    if let type = essence(mimeType), let known = extensions[type] { return known }
    return own ?? "bin"
  }

  /// Whether the text is a media extension.
  static func isMediaExtension(_ text: String) -> Bool { mediaExtensions.contains(text) }

  private static func safeExtension(of url: URL) -> String? {
    let name = url.path(percentEncoded: true).split(separator: "/").last ?? ""
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return nil }
    let text = name[name.index(after: dot)...].lowercased()
    let isSafe = text.utf8.allSatisfy {
      ($0 >= 0x61 && $0 <= 0x7A) || ($0 >= 0x30 && $0 <= 0x39)
    }
    return isSafe && (1...8).contains(text.utf8.count) ? text : nil
  }

  /// From the registrations at iana.org/assignments/media-types and the RFCs they name, and the
  /// unregistered `x-` names of earlier server configurations.
  private static let extensions: [String: String] = [
    // RFC 3003
    "audio/mpeg": "mp3", "audio/mp3": "mp3", "audio/mpeg3": "mp3", "audio/x-mpeg": "mp3",
    "audio/x-mp3": "mp3",
    // RFC 2361 registers audio/vnd.wave
    "audio/wav": "wav", "audio/wave": "wav", "audio/x-wav": "wav", "audio/vnd.wave": "wav",
    // RFC 9639
    "audio/flac": "flac", "audio/x-flac": "flac",
    // RFC 5334, RFC 7845
    "audio/ogg": "ogg", "application/ogg": "ogg", "audio/vorbis": "ogg", "audio/opus": "opus",
    "video/ogg": "ogv",
    // audio/aac: IANA, ISO/IEC 14496-3 ADTS
    "audio/aac": "aac", "audio/aacp": "aac", "audio/x-aac": "aac",
    // RFC 4337
    "audio/mp4": "m4a", "audio/x-m4a": "m4a", "audio/m4a": "m4a", "video/mp4": "mp4",
    "application/mp4": "mp4", "video/x-m4v": "m4v",
    // RFC 9559 registers audio/matroska and video/matroska
    "video/webm": "webm", "audio/webm": "weba", "video/matroska": "mkv",
    "video/x-matroska": "mkv", "audio/matroska": "mka", "audio/x-matroska": "mka",
    "video/quicktime": "mov", "audio/aiff": "aiff", "audio/x-aiff": "aiff",
    "audio/x-caf": "caf", "audio/midi": "mid", "audio/amr": "amr",
    // RFC 3555, RFC 3551
    "video/mp2t": "ts", "video/mpeg": "mpg",
    // RFC 3839
    "video/3gpp": "3gp", "audio/3gpp": "3gp",
    "video/x-msvideo": "avi", "video/x-flv": "flv", "video/x-ms-wmv": "wmv",
    "audio/x-ms-wma": "wma",
    // RFC 8216 §4; the MPD's type is in ISO/IEC 23009-1
    "application/vnd.apple.mpegurl": "m3u8", "application/x-mpegurl": "m3u8",
    "audio/mpegurl": "m3u8", "audio/x-mpegurl": "m3u8", "application/dash+xml": "mpd",
  ]

  private static let mediaExtensions: Set<String> = Set(extensions.values).union([
    "oga", "mp2", "m4b", "m4s", "m2ts", "mts", "mpeg", "qt", "aif", "aifc", "wv", "ape", "ac3",
    "eac3", "dts", "mpc", "alac", "3g2", "m3u", "vtt", "srt",
  ])
}
