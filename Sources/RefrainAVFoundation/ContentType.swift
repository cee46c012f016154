// SPDX-License-Identifier: MIT
import Refrain

#if canImport(UniformTypeIdentifiers)
  import UniformTypeIdentifiers
#endif

/// Determines the type of a resource as AVFoundation expects it: a Uniform Type Identifier (UTI),
/// not a MIME type.
///
/// The origin's MIME type and the URL's extension declare the type: their author knew the resource,
/// and a player may know it already by another path. The first bytes determine it only if neither
/// declares one, or they contradict each other.
enum ContentType {
  /// AVFoundation plays HLS playlists, whose segments cannot come through a resource loader.
  /// UTCoreTypes.h has one type for both `.m3u` and `.m3u8`, `UTType.m3uPlaylist`.
  static func isPlaylist(_ type: String) -> Bool { type == UTI.m3uPlaylist }

  /// Returns the type that an origin's MIME type and a URL's extension declare together; nil if
  /// neither declares one, or they name different formats: servers send `audio/mpeg` for all that
  /// MPEG has made.
  ///
  /// - Only the extension counts if the MIME type is missing, unknown, or one that servers send for
  ///   files that they do not know.
  /// - Of two names of one format, the more exact one counts: `video/mp4` is correct for `.m4a`, as
  ///   a container, but makes a player look for video.
  static func declared(mimeType: String?, pathExtension: String) -> String? {
    let essence = MediaType.essence(mimeType)
    let byExtension = type(ofExtension: pathExtension)
    guard let essence, !genericTypes.contains(essence),
      let byMIMEType = mimeTypes[essence]
        ?? MediaType.usualExtension(ofType: essence).flatMap({ extensions[$0] })
        ?? systemType(mimeType: essence)
    else { return byExtension }
    guard let byExtension, byExtension != byMIMEType else { return byMIMEType }
    return moreExact(byExtension, byMIMEType)
  }

  /// Returns the type of a resource for which none is declared, or two: that of its first bytes, or
  /// the extension's if that names the same format more exactly, or if they show nothing.
  static func sniffed(_ firstBytes: some Collection<UInt8>, pathExtension: String) -> String? {
    let (byExtension, shown) = (type(ofExtension: pathExtension), sniffed(firstBytes))
    guard let byExtension, let shown else { return byExtension ?? shown }
    return moreExact(byExtension, shown) ?? shown
  }

  private static func type(ofExtension pathExtension: String) -> String? {
    extensions[pathExtension.lowercased()] ?? systemType(pathExtension)
  }

  /// Nil if the two types are not of one format.
  private static func moreExact(_ byExtension: String, _ other: String) -> String? {
    guard sameFormat.contains(where: { $0.contains(byExtension) && $0.contains(other) })
    else { return nil }
    // `.mp4` does not state what is inside, `audio/mp4` does.
    return broadTypes.contains(byExtension) && other != UTI.quickTime ? other : byExtension
  }

  /// The types whose extensions are used whatever the container holds.
  private static let broadTypes: Set<String> = [UTI.mpeg4, UTI.ogg]

  /// Returns the type to report to AVFoundation, which throws for a type outside of
  /// `AVAssetResourceLoadingContentInformationRequest.allowedContentTypes`: the type itself; else
  /// the allowed one of the same format that is most like it, because the same code reads it; else
  /// an allowed one that the type conforms to.
  static func choose(_ type: String, from allowed: [String]?) -> String? {
    guard let allowed, !allowed.contains(type) else { return type }
    let format = sameFormat.first { $0.contains(type) } ?? []
    let place = format.firstIndex(of: type) ?? 0
    let nearest = format.indices.filter { allowed.contains(format[$0]) }
      .min { abs($0 - place) < abs($1 - place) }
    return nearest.map { format[$0] } ?? allowed.first { conforms(type, to: $0) }
  }

  /// The types that name the same file format, those that are most alike beside each other.
  ///
  /// ISO/IEC 14496-14 (MP4), 3GPP TS 26.244 and 3GPP2 C.S0050 (3GP) are profiles of ISO/IEC
  /// 14496-12, which was made from the QuickTime file format.
  private static let sameFormat: [[String]] = [
    [
      UTI.protectedM4B, UTI.protectedM4A, UTI.ringtone, UTI.m4a, UTI.mpeg4Audio, UTI.mpeg4, UTI.m4v,
      UTI.quickTime, UTI.mobile3GPP, UTI.mobile3GPP2, UTI.quickTimeAudio, UTI.protectedM4V,
    ],
    // AIFF-C's decoders read AIFF.
    [UTI.aiff, UTI.aifc],
    // RFC 3003 has one type for both layers.
    [UTI.mp3, UTI.mp2],
    [UTI.transportStream, UTI.avchd],
    [UTI.ogg, UTI.ogv],
  ]

  // MARK: What the system knows besides

  #if canImport(UniformTypeIdentifiers)
    private static func systemType(_ pathExtension: String) -> String? {
      pathExtension.isEmpty ? nil : audiovisual(UTType(filenameExtension: pathExtension))
    }

    private static func systemType(mimeType: String) -> String? {
      audiovisual(UTType(mimeType: mimeType))
    }

    /// A dynamic type, which the system makes up for an unknown one, is nothing audiovisual.
    private static func audiovisual(_ type: UTType?) -> String? {
      type.flatMap { $0.conforms(to: .audiovisualContent) ? $0.identifier : nil }
    }

    private static func conforms(_ type: String, to other: String) -> Bool {
      UTType(other).map { UTType(type)?.conforms(to: $0) == true } == true
    }
  #else
    private static func systemType(_ pathExtension: String) -> String? { nil }
    private static func systemType(mimeType: String) -> String? { nil }
    private static func conforms(_ type: String, to other: String) -> Bool { false }
  #endif

  // MARK: Tables

  /// The types that do not describe the resource: the server does not know it, or wants it saved.
  ///
  /// RFC 2046 §4.5.1 defines application/octet-stream; the `default_type` of nginx and Apache httpd
  /// is text/plain or application/octet-stream; PHP sends text/html for a script that names no
  /// type, such as one that outputs a file; download scripts send the others to keep a browser from
  /// playing.
  private static let genericTypes: Set<String> = [
    "", "*/*", "application/octet-stream", "binary/octet-stream", "application/binary",
    "application/x-binary", "application/unknown", "application/x-unknown",
    "application/x-unknown-content-type", "unknown/unknown", "content/unknown",
    "application/download", "application/x-download", "application/force-download",
    "application/x-force-download", "application/save", "application/x-octet-stream",
    "text/plain", "text/html",
  ]

  /// The identifiers for MIME types that no extension of media has, or no extension so exactly.
  private static let mimeTypes: [String: String] = [
    // RFC 4337
    "audio/mp4": UTI.mpeg4Audio,
    // RFC 8216 §4
    "application/vnd.apple.mpegurl": UTI.m3uPlaylist, "application/x-mpegurl": UTI.m3uPlaylist,
    "audio/mpegurl": UTI.m3uPlaylist, "audio/x-mpegurl": UTI.m3uPlaylist,
  ]

  /// The identifiers for extensions, as Apple's types declare them (UTCoreTypes.h, `AVFileType`),
  /// or as the registration of the MIME type does if Apple has no type.
  ///
  /// Apple declares `.m4b` as `com.apple.protected-mpeg-4-audio-b`: an audiobook on a plain web
  /// server is the same file without protection, which is an `.m4a`.
  private static let extensions: [String: String] = [
    "mp3": UTI.mp3, "mpga": UTI.mp3, "mp2": UTI.mp2, "aac": UTI.aac, "adts": UTI.aac,
    "mp4": UTI.mpeg4, "mpg4": UTI.mpeg4, "m4a": UTI.m4a, "m4b": UTI.m4a, "m4v": UTI.m4v,
    "m4r": UTI.ringtone, "m4p": UTI.protectedM4A,
    "mov": UTI.quickTime, "qt": UTI.quickTime, "qta": UTI.quickTimeAudio,
    "3gp": UTI.mobile3GPP, "3gpp": UTI.mobile3GPP, "3g2": UTI.mobile3GPP2,
    "3gp2": UTI.mobile3GPP2,
    "wav": UTI.wav, "wave": UTI.wav, "bwf": UTI.wav, "aiff": UTI.aiff, "aif": UTI.aiff,
    "aifc": UTI.aifc, "caf": UTI.caf, "au": UTI.au, "snd": UTI.au, "amr": UTI.amr,
    "flac": UTI.flac, "ogg": UTI.ogg, "oga": UTI.ogg, "opus": UTI.ogg, "spx": UTI.ogg,
    "ogv": UTI.ogv, "ac3": UTI.ac3, "eac3": UTI.eac3, "ec3": UTI.eac3,
    "ts": UTI.transportStream, "mts": UTI.avchd, "m2ts": UTI.avchd,
    "mpg": UTI.mpeg, "mpeg": UTI.mpeg, "mpe": UTI.mpeg,
    "m3u8": UTI.m3uPlaylist, "m3u": UTI.m3uPlaylist,
  ]
}

/// From UTCoreTypes.h (UniformTypeIdentifiers) and AVMediaFormat.h (`AVFileType`) if those name the
/// format, others from Apple's "System-Declared Uniform Type Identifiers". Those of Xiph.Org are in
/// none of these: programs that play the formats declare them.
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
  static let mpeg = "public.mpeg"
  static let transportStream = "public.mpeg-2-transport-stream"
  static let avchd = "public.avchd-mpeg-2-transport-stream"

  static let m3uPlaylist = "public.m3u-playlist"
}
