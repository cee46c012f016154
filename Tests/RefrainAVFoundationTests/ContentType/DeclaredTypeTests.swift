// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainAVFoundation

@Suite struct DeclaredTypeTests {
  struct Case: CustomTestStringConvertible, Sendable {
    var mimeType: String?
    var pathExtension: String
    var type: String?

    init(_ mimeType: String?, _ pathExtension: String, _ type: String?) {
      self.mimeType = mimeType
      self.pathExtension = pathExtension
      self.type = type
    }

    var testDescription: String { "\(mimeType ?? "no type"), .\(pathExtension)" }
  }

  @Test(arguments: [
    Case("audio/mpeg", "", "public.mp3"),
    Case("audio/flac", "", "org.xiph.flac"),
    Case("audio/wav", "", "com.microsoft.waveform-audio"),
    Case("audio/mp4", "", "public.mpeg-4-audio"),
    Case("video/mp4", "", "public.mpeg-4"),
    Case("video/quicktime", "", "com.apple.quicktime-movie"),
    Case("audio/ogg", "", "org.xiph.ogg-audio"),
    Case("application/vnd.apple.mpegurl", "", "public.m3u-playlist"),
    Case("Audio/MPEG; charset=binary", "", "public.mp3"),
    Case(" audio/aac ;codecs=\"mp4a.40.2\"", "", "public.aac-audio"),
    Case("audio/mpeg", "php", "public.mp3"),
    Case("audio/mpeg", "flac", "public.mp3"),
  ])
  func `The type follows from the MIME type`(_ example: Case) { check(example) }

  @Test(arguments: [
    Case(nil, "mp3", "public.mp3"),
    Case("", "m4a", "com.apple.m4a-audio"),
    Case("application/octet-stream", "MP3", "public.mp3"),
    Case("application/octet-stream; charset=x", "flac", "org.xiph.flac"),
    Case("binary/octet-stream", "mov", "com.apple.quicktime-movie"),
    Case("application/x-download", "m4b", "com.apple.m4a-audio"),
    Case("application/force-download", "wav", "com.microsoft.waveform-audio"),
    Case("text/plain", "mp3", "public.mp3"),
    Case("text/plain; charset=UTF-8", "m3u8", "public.m3u-playlist"),
    Case("text/html", "mp4", "public.mpeg-4"),
    Case("text/vnd.trolltech.linguist", "ts", "public.mpeg-2-transport-stream"),
    Case("no type at all", "aiff", "public.aiff-audio"),
  ])
  func `The extension decides if the MIME type is missing or generic`(_ example: Case) {
    check(example)
  }

  @Test(arguments: [
    Case("audio/mpeg", "m4a", "com.apple.m4a-audio"),
    Case("audio/mpeg", "aac", "public.aac-audio"),
    Case("audio/mpeg", "mp2", "public.mp2"),
    Case("audio/aac", "m4a", "com.apple.m4a-audio"),
    Case("video/mpeg", "ts", "public.mpeg-2-transport-stream"),
    Case("video/mpeg", "mp4", "public.mpeg-4"),
    Case("video/mp4", "mp3", "public.mp3"),
    Case("application/ogg", "flac", "org.xiph.flac"),
    Case("application/vnd.apple.mpegurl", "ts", "public.mpeg-2-transport-stream"),
    Case("video/mp2t", "m3u8", "public.m3u-playlist"),
  ])
  func `The extension corrects MIME types that servers often get wrong`(_ example: Case) {
    check(example)
  }

  @Test(arguments: [
    Case("video/mp4", "m4a", "com.apple.m4a-audio"),
    Case("audio/mp4", "m4a", "com.apple.m4a-audio"),
    Case("video/mp4", "m4v", "com.apple.m4v-video"),
    Case("video/quicktime", "mp4", "public.mpeg-4"),
    Case("application/ogg", "ogv", "org.xiph.ogv"),
    Case("audio/x-aiff", "aifc", "public.aifc-audio"),
    Case("video/mp2t", "m2ts", "public.avchd-mpeg-2-transport-stream"),
    // Nor if the MIME type is more specific.
    Case("audio/mp4", "mp4", "public.mpeg-4-audio"),
    Case("video/ogg", "ogg", "org.xiph.ogv"),
    Case("video/webm", "mkv", "org.webmproject.webm"),
  ])
  func `The more specific of MIME type and extension decides`(_ example: Case) { check(example) }

  @Test(arguments: [
    Case(nil, "", nil), Case("application/octet-stream", "", nil), Case("text/plain", "txt", nil),
    Case("", "php", nil), Case(";", "", nil), Case("/", ".", nil),
  ])
  func `An unknown MIME type and extension declare no type`(_ example: Case) { check(example) }

  @Test func `The first bytes decide only if no type is declared`() {
    let flac = Array("fLaC".utf8)
    func type(_ mimeType: String?, _ pathExtension: String) -> String? {
      ContentType.of(mimeType: mimeType, pathExtension: pathExtension, firstBytes: flac)
    }
    #expect(type(nil, "") == "org.xiph.flac")
    #expect(type("application/octet-stream", "bin") == "org.xiph.flac")
    #expect(type("audio/mpeg", "") == "public.mp3")
    #expect(type("application/octet-stream", "mp3") == "public.mp3")
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

  private func check(_ example: Case) {
    #expect(
      ContentType.declared(mimeType: example.mimeType, pathExtension: example.pathExtension)
        == example.type)
  }
}
