// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

/// Subtitles that are a rendition of a stream, in ffmpeg. It ignores those that a multivariant
/// playlist names, so it opens their own playlist.
@Suite(
  .enabled(if: RequiredProgram.ffmpeg.isUsable), .timeLimit(.minutes(TestSeed.minutes(2))))
struct SubtitleRenditionTests {
  /// Decodes the subtitles of a stream to SubRip.
  private func subtitles(_ url: URL) async throws -> String {
    try await withDirectory { directory in
      try await run(
        .ffmpeg,
        ["-nostdin", "-v", "error", "-xerror", "-i", url.absoluteString, "-map", "0:s"]
          + ["-f", "srt", "subtitles.srt"],
        in: directory)
      return try String(
        contentsOf: directory.appending(path: "subtitles.srt"), encoding: .utf8)
    }
  }

  /// Decodes directly, through the proxy, and again without the origin.
  ///
  /// - Parameter files: those that hold the subtitles.
  private func expectSameSubtitles(
    _ path: String, of files: [String], through proxied: Proxied, containing line: String
  ) async throws {
    let direct = try await subtitles(proxied.direct(path))
    #expect(direct.contains(line))
    for name in [path] + files { proxied.origin.resetLog(name) }
    let url = try proxied.proxied(path)
    #expect(try await subtitles(url) == direct)
    for name in [path] + files {
      let log = try await proxied.origin.wait(for: name) { $0.running == 0 }
      #expect(log.requests.count == 1 && log.bytesSentTwice == 0, "\(name)")
      #expect(log.requests.allSatisfy { $0.request.headers.first("Via") != nil }, "\(name)")
    }
    await proxied.origin.stopListening()
    #expect(try await subtitles(url) == direct, "without the origin")
  }

  @Test func `Subtitles of an HTTP Live Stream are the same through the proxy as directly`()
    async throws
  {
    let stream = try await StreamFixture.made(.variants)
    try await Proxied.with { proxied in
      stream.serve(on: proxied.origin)
      try await expectSameSubtitles(
        stream.folder + "text/index.m3u8", of: [stream.folder + "text/all.vtt"],
        through: proxied, containing: "A line")
    }
  }

  @Test func `Subtitles of DASH are the same through the proxy as directly`() async throws {
    let manifest = """
      <?xml version="1.0"?>
      <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" minBufferTime="PT2S"
        profiles="urn:mpeg:dash:profile:isoff-on-demand:2011" mediaPresentationDuration="PT9S">
      <Period><AdaptationSet contentType="text" lang="en" mimeType="text/vtt">
      <Representation id="text" bandwidth="100"><BaseURL>text/en.vtt</BaseURL></Representation>
      </AdaptationSet></Period></MPD>

      """
    let lines = """
      WEBVTT

      00:00:01.000 --> 00:00:04.000
      A first line

      00:00:05.000 --> 00:00:08.500
      A second line

      """
    try await Proxied.with { proxied in
      for (path, text) in [("/film.mpd", manifest), ("/text/en.vtt", lines)] {
        proxied.origin.serve(
          OriginResource(
            .bytes(Array(text.utf8)), contentType: StreamFixture.contentType(of: path),
            etag: "\"\(path)\"", headers: [Field("Cache-Control", "max-age=86400")]),
          at: path)
      }
      try await expectSameSubtitles(
        "/film.mpd", of: ["/text/en.vtt"], through: proxied, containing: "A second line")
    }
  }
}
