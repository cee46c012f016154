// SPDX-License-Identifier: MIT

extension ContentType {
  /// The types that do not describe the resource: the server does not know it, or wants it saved.
  ///
  /// RFC 2046 §4.5.1 defines application/octet-stream; the `default_type` of nginx and Apache httpd
  /// is text/plain or application/octet-stream; PHP sends text/html for a script that names no
  /// type, such as one that outputs a file; download scripts send the others to keep a browser from
  /// playing.
  static let genericTypes: Set<String> = [
    "", "*/*", "application/octet-stream", "binary/octet-stream", "application/binary",
    "application/x-binary", "application/unknown", "application/x-unknown",
    "application/x-unknown-content-type", "unknown/unknown", "content/unknown",
    "application/download", "application/x-download", "application/force-download",
    "application/x-force-download", "application/save", "application/x-octet-stream",
    "text/plain", "text/html",
  ]

  /// The identifiers for MIME types: those registered at iana.org/assignments/media-types and in
  /// the RFCs named below, and unregistered ones that servers used before. The identifiers are
  /// those for which Apple declares the MIME types.
  static let mimeTypes: [String: String] = [
    // RFC 3003: MPEG-1 and MPEG-2 audio, in practice layer III.
    "audio/mpeg": UTI.mp3, "audio/mp3": UTI.mp3, "audio/mpeg3": UTI.mp3, "audio/mpg": UTI.mp3,
    "audio/x-mpeg": UTI.mp3, "audio/x-mp3": UTI.mp3, "audio/x-mpeg3": UTI.mp3,
    "audio/x-mpg": UTI.mp3,
    // IANA: ADTS as in ISO/IEC 14496-3; the last one is from DLNA
    "audio/aac": UTI.aac, "audio/aacp": UTI.aac, "audio/x-aac": UTI.aac,
    "audio/vnd.dlna.adts": UTI.aac,
    // RFC 4337
    "audio/mp4": UTI.mpeg4Audio, "video/mp4": UTI.mpeg4, "application/mp4": UTI.mpeg4,
    "audio/x-m4a": UTI.m4a, "audio/m4a": UTI.m4a, "audio/x-m4b": UTI.m4a,
    "audio/x-m4r": UTI.ringtone, "video/x-m4v": UTI.m4v,
    "video/quicktime": UTI.quickTime,
    // RFC 3839, RFC 4393
    "video/3gpp": UTI.mobile3GPP, "audio/3gpp": UTI.mobile3GPP,
    "video/3gpp2": UTI.mobile3GPP2, "audio/3gpp2": UTI.mobile3GPP2,
    // RFC 2361
    "audio/vnd.wave": UTI.wav, "audio/wav": UTI.wav, "audio/wave": UTI.wav,
    "audio/x-wav": UTI.wav, "audio/x-pn-wav": UTI.wav,
    "audio/aiff": UTI.aiff, "audio/x-aiff": UTI.aiff, "audio/x-caf": UTI.caf,
    // RFC 2046 §4.3
    "audio/basic": UTI.au,
    // RFC 4867
    "audio/amr": UTI.amr,
    // RFC 9639
    "audio/flac": UTI.flac, "audio/x-flac": UTI.flac,
    // RFC 5334, RFC 7845
    "audio/ogg": UTI.ogg, "application/ogg": UTI.ogg, "audio/x-ogg": UTI.ogg,
    "audio/vorbis": UTI.ogg, "audio/opus": UTI.ogg, "video/ogg": UTI.ogv,
    // RFC 4184, RFC 4598
    "audio/ac3": UTI.ac3, "audio/eac3": UTI.eac3,
    // RFC 3555; video/vnd.dlna.mpeg-tts is from DLNA, with 192 bytes per packet
    "video/mp2t": UTI.transportStream, "video/vnd.dlna.mpeg-tts": UTI.avchd,
    // RFC 3551
    "video/mpeg": UTI.mpeg,
    // RFC 9559; WebM's are from webmproject.org/docs/container
    "video/matroska": UTI.matroska, "video/x-matroska": UTI.matroska,
    "audio/matroska": UTI.matroska, "audio/x-matroska": UTI.matroska,
    "video/webm": UTI.webm, "audio/webm": UTI.webm,
    "video/x-msvideo": UTI.avi, "video/avi": UTI.avi, "video/msvideo": UTI.avi,
    // RFC 8216 §4
    "application/vnd.apple.mpegurl": UTI.m3uPlaylist, "application/x-mpegurl": UTI.m3uPlaylist,
    "audio/mpegurl": UTI.m3uPlaylist, "audio/x-mpegurl": UTI.m3uPlaylist,
  ]

  /// The identifiers for extensions, as Apple's types declare them (UTCoreTypes.h, `AVFileType`),
  /// or as the registration of the MIME type does if Apple has no type.
  ///
  /// Apple declares `.m4b` as `com.apple.protected-mpeg-4-audio-b`: an audiobook on a plain web
  /// server is the same file without protection, which is an `.m4a`.
  static let extensions: [String: String] = [
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
    "mkv": UTI.matroska, "mka": UTI.matroska, "webm": UTI.webm, "weba": UTI.webm,
    "avi": UTI.avi, "m3u8": UTI.m3uPlaylist, "m3u": UTI.m3uPlaylist,
  ]

  /// The MIME types that servers send wrongly, with the formats for which they do.
  static let mistakes: [String: Set<String>] = [
    // "MPEG" used for all MPEG formats; audio/mpeg for .m4a was in Apache httpd's mime.types.
    "audio/mpeg": [UTI.m4a, UTI.mpeg4, UTI.aac, UTI.mp2, UTI.ringtone, UTI.m3uPlaylist],
    "audio/x-mpeg": [UTI.m4a, UTI.mpeg4, UTI.aac, UTI.mp2],
    "video/mpeg": [UTI.mp3, UTI.mp2, UTI.mpeg4, UTI.m4a, UTI.m4v, UTI.transportStream, UTI.avchd],
    // The codec's name used for the container, and the other way round.
    "audio/aac": [UTI.m4a, UTI.mpeg4], "audio/aacp": [UTI.m4a, UTI.mpeg4],
    "audio/x-aac": [UTI.m4a, UTI.mpeg4], "audio/mp4": [UTI.aac, UTI.mp3],
    "video/mp4": [UTI.aac, UTI.mp3, UTI.transportStream, UTI.m3uPlaylist],
    "audio/flac": [UTI.ogg], "audio/x-flac": [UTI.ogg], "audio/ogg": [UTI.flac],
    "application/ogg": [UTI.flac], "audio/ac3": [UTI.eac3],
    "audio/3gpp": [UTI.amr], "video/3gpp": [UTI.amr],
    // The playlist's type used for its entries, by a rule for a whole directory of HLS, and the
    // segments' type for the playlist.
    "application/vnd.apple.mpegurl": [UTI.transportStream, UTI.mpeg4, UTI.aac],
    "application/x-mpegurl": [UTI.transportStream, UTI.mpeg4, UTI.aac],
    "audio/x-mpegurl": [UTI.mp3], "audio/mpegurl": [UTI.mp3],
    "video/mp2t": [UTI.m3uPlaylist],
  ]
}
