// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainAVFoundation

@Suite struct DeclaredTypeTests {
  /// The MIME type, the extension, and the type that they declare.
  static let cases: [(String?, String, String?)] = [
    // The MIME type decides.
    ("audio/mpeg", "", "public.mp3"),
    ("audio/flac", "", "org.xiph.flac"),
    ("audio/wav", "", "com.microsoft.waveform-audio"),
    ("audio/mp4", "", "public.mpeg-4-audio"),
    ("video/mp4", "", "public.mpeg-4"),
    ("video/quicktime", "", "com.apple.quicktime-movie"),
    ("audio/ogg", "", "org.xiph.ogg-audio"),
    ("application/vnd.apple.mpegurl", "", "public.m3u-playlist"),
    ("Audio/MPEG; charset=binary", "", "public.mp3"),
    (" audio/aac ;codecs=\"mp4a.40.2\"", "", "public.aac-audio"),
    ("audio/mpeg", "php", "public.mp3"),
    // The extension decides if the MIME type is missing or generic.
    (nil, "mp3", "public.mp3"),
    ("", "m4a", "com.apple.m4a-audio"),
    ("application/octet-stream", "MP3", "public.mp3"),
    ("application/octet-stream; charset=x", "flac", "org.xiph.flac"),
    ("binary/octet-stream", "mov", "com.apple.quicktime-movie"),
    ("application/x-download", "m4b", "com.apple.m4a-audio"),
    ("application/force-download", "wav", "com.microsoft.waveform-audio"),
    ("text/plain", "mp3", "public.mp3"),
    ("text/plain; charset=UTF-8", "m3u8", "public.m3u-playlist"),
    ("text/html", "mp4", "public.mpeg-4"),
    ("text/vnd.trolltech.linguist", "ts", "public.mpeg-2-transport-stream"),
    ("no type at all", "aiff", "public.aiff-audio"),
    // Two formats: the first bytes decide.
    ("audio/mpeg", "m4a", nil), ("audio/mpeg", "aac", nil), ("audio/mpeg", "flac", nil),
    ("video/mpeg", "mp4", nil), ("video/mp4", "mp3", nil), ("video/mp2t", "m3u8", nil),
    ("application/ogg", "flac", nil),
    // The more specific of the two decides.
    ("audio/mpeg", "mp2", "public.mp2"),
    ("video/mp4", "m4a", "com.apple.m4a-audio"),
    ("audio/mp4", "m4a", "com.apple.m4a-audio"),
    ("video/mp4", "m4v", "com.apple.m4v-video"),
    ("video/quicktime", "mp4", "public.mpeg-4"),
    ("application/ogg", "ogv", "org.xiph.ogv"),
    ("audio/x-aiff", "aifc", "public.aifc-audio"),
    ("video/mp2t", "m2ts", "public.avchd-mpeg-2-transport-stream"),
    // Nor if the MIME type is more specific.
    ("audio/mp4", "mp4", "public.mpeg-4-audio"),
    ("video/ogg", "ogg", "org.xiph.ogv"),
    // Neither is known.
    ("video/webm", "mkv", nil), (nil, "", nil), ("application/octet-stream", "", nil),
    ("text/plain", "txt", nil), ("", "php", nil), (";", "", nil), ("/", ".", nil),
  ]

  @Test(arguments: cases)
  func `The MIME type and the extension declare a type`(
    _ mimeType: String?, _ pathExtension: String, _ type: String?
  ) {
    #expect(ContentType.declared(mimeType: mimeType, pathExtension: pathExtension) == type)
  }

  @Test func `The first bytes decide if no type is declared, or two`() {
    let flac = MediaBytes.text("fLaC")
    func type(_ mimeType: String?, _ pathExtension: String) -> String? {
      ContentType.declared(mimeType: mimeType, pathExtension: pathExtension)
        ?? ContentType.sniffed(flac, pathExtension: pathExtension)
    }
    #expect(type(nil, "") == "org.xiph.flac")
    #expect(type("application/octet-stream", "bin") == "org.xiph.flac")
    #expect(type("audio/mpeg", "") == "public.mp3")
    #expect(type("audio/mpeg", "mp3") == "public.mp3")
    #expect(type("audio/mpeg", "m4a") == "org.xiph.flac")
    #expect(type("application/octet-stream", "mp3") == "public.mp3")
  }

  /// The first bytes, the extension, and the type that follows.
  static let contradictions: [([UInt8], String, String?)] = [
    // The extension is the more exact name of the same format.
    (MediaBytes.fileType("isom"), "m4a", "com.apple.m4a-audio"),
    (MediaBytes.fileType("mp42"), "M4B", "com.apple.m4a-audio"),
    (MediaBytes.fileType("dash"), "m4a", "com.apple.m4a-audio"),
    (MediaBytes.text("OggS"), "ogv", "org.xiph.ogv"),
    // It is not.
    (MediaBytes.fileType("M4A "), "mp4", "com.apple.m4a-audio"),
    (MediaBytes.fileType("isom"), "mp3", "public.mpeg-4"),
    (MediaBytes.mp3, "m4a", "public.mp3"),
    (MediaBytes.text("fLaC"), "flac", "org.xiph.flac"),
    (MediaBytes.text("#EXTM3U\n"), "mp3", "public.m3u-playlist"),
    // The bytes show nothing, or were not read.
    (MediaBytes.text("junk"), "mp3", "public.mp3"), ([], "m4a", "com.apple.m4a-audio"),
    ([], "php", nil),
  ]

  @Test(arguments: contradictions)
  func `The extension counts if the bytes show nothing or only the format`(
    _ bytes: [UInt8], _ pathExtension: String, _ type: String?
  ) {
    #expect(ContentType.sniffed(bytes, pathExtension: pathExtension) == type)
  }

  @Test func `Playlists are recognized by their type`() {
    for (mimeType, name) in [
      ("application/vnd.apple.mpegurl", ""), ("application/x-mpegURL", ""),
      ("text/plain", "m3u8"), ("audio/x-mpegurl", "m3u"),
    ] {
      let type = ContentType.declared(mimeType: mimeType, pathExtension: name)
      #expect(type.map(ContentType.isPlaylist) == true)
    }
    #expect(!ContentType.isPlaylist("public.mp3"))
    #expect(!ContentType.isPlaylist("public.plain-text"))
  }
}
