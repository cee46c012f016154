// SPDX-License-Identifier: MIT
public import Foundation

/// The known properties of a resource besides its bytes.
public struct ContentInformation: Sendable, Hashable {
  /// The length in bytes; nil while unknown (an origin that streams without a length).
  public var length: Int64?
  /// The media type as the origin sent it, lower case and without parameters: `audio/flac`.
  public var mimeType: String?
  /// Whether the origin supports range requests.
  public var supportsRanges: Bool
  /// The strong ETag, else Last-Modified, as in the header; nil if the origin sent neither.
  public var validator: String?
  /// The URL that responded, after redirects.
  public var finalURL: URL

  public init(
    length: Int64?, mimeType: String?, supportsRanges: Bool, validator: String?, finalURL: URL
  ) {
    (self.length, self.mimeType, self.supportsRanges) = (length, mimeType, supportsRanges)
    (self.validator, self.finalURL) = (validator, finalURL)
  }
}

/// Parses Content-Type (RFC 9110 §8.3.1).
package enum MediaType {
  /// Returns `type/subtype` in lower case, without parameters; nil if the value is malformed.
  package static func essence(_ contentType: String?) -> String? {
    guard let contentType else { return nil }
    let whole = contentType.prefix { $0 != ";" }.trimmingOWS
    let parts = whole.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, whole.utf8.count < 256, parts.allSatisfy(\.isToken) else { return nil }
    return whole.lowercased()
  }

  static func isPage(_ mimeType: String?) -> Bool {
    mimeType == "text/html" || mimeType == "application/xhtml+xml"
  }

  /// Whether it is known to be no web page, which a network with a sign-in page sends in its place.
  static func isKnownNoPage(_ mimeType: String?, url: URL) -> Bool {
    let ending = url.pathExtension.lowercased()
    if ["html", "htm", "xhtml"].contains(ending) || isPage(mimeType) { return false }
    return mimeType != nil || mediaExtensions.contains(ending)
  }

  /// Returns the extension for a data file: one to eight of `a`…`z`, `0`…`9`.
  static func fileExtension(
    mimeType: String?, url: URL, documents: (any DocumentRules)? = nil
  ) -> String {
    let own = url.pathExtension.lowercased()
    if mediaExtensions.contains(own) { return own }
    if let type = essence(mimeType),
      let known = usualExtension(ofType: type) ?? documents?.fileExtensions[type]
    {
      return known
    }
    let isSafe = own.utf8.allSatisfy { $0.isLetter || $0.isDigit }
    return isSafe && (1...8).contains(own.utf8.count) ? own : "bin"
  }

  package static func usualExtension(ofType essence: String) -> String? {
    extensions[essence.replacing("/x-", with: "/")]
  }

  /// From iana.org/assignments/media-types, and unregistered names of earlier servers.
  private static let extensions: [String: String] = [
    "audio/mpeg": "mp3", "audio/mp3": "mp3", "audio/mpeg3": "mp3", "audio/mpg": "mp3",
    "audio/wav": "wav", "audio/wave": "wav", "audio/vnd.wave": "wav", "audio/pn-wav": "wav",
    "audio/flac": "flac",
    "audio/ogg": "ogg", "application/ogg": "ogg", "audio/vorbis": "ogg", "audio/opus": "opus",
    "video/ogg": "ogv",
    "audio/aac": "aac", "audio/aacp": "aac",
    "audio/mp4": "m4a", "audio/m4a": "m4a", "video/mp4": "mp4", "application/mp4": "mp4",
    "video/m4v": "m4v", "audio/m4b": "m4b", "audio/m4r": "m4r",
    "video/webm": "webm", "audio/webm": "weba", "video/matroska": "mkv", "audio/matroska": "mka",
    "video/quicktime": "mov", "audio/aiff": "aiff", "audio/caf": "caf", "audio/midi": "mid",
    "audio/amr": "amr", "audio/basic": "au",
    "audio/ac3": "ac3", "audio/eac3": "eac3",
    "video/mp2t": "ts", "video/mpeg": "mpg",
    "video/3gpp": "3gp", "audio/3gpp": "3gp", "video/3gpp2": "3g2", "audio/3gpp2": "3g2",
    "video/msvideo": "avi", "video/flv": "flv", "video/ms-wmv": "wmv", "audio/ms-wma": "wma",
  ]

  private static let mediaExtensions: Set<String> = Set(extensions.values).union([
    "oga", "mp2", "m4s", "m2ts", "mts", "mpeg", "qt", "aif", "aifc", "wv", "ape", "dts", "mpc",
    "alac", "m3u", "m3u8", "mpd", "vtt", "srt",
  ])
}
