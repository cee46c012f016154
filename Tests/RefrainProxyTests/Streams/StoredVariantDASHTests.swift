// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy
@testable import RefrainStreams

/// MPDs while the origin cannot be reached: they describe what is stored.
@Suite(.timeLimit(.minutes(1))) struct StoredVariantDASHTests {
  private static let low = "<Representation id=\"low\" bandwidth=\"1\"/>"
  private static let high = "<Representation id=\"high\" bandwidth=\"2\"></Representation>"
  private static let english =
    "<AdaptationSet contentType=\"audio\" lang=\"en\"><Representation id=\"en\"/></AdaptationSet>"
  private static let german =
    "<AdaptationSet contentType=\"audio\" lang=\"de\"><Representation id=\"de\"/></AdaptationSet>"
  private static let subtitles =
    "<AdaptationSet contentType=\"text\"><Representation id=\"sub\"/></AdaptationSet>"
  private static let start = """
    <?xml version="1.0"?>
    <MPD type="static" mediaPresentationDuration="PT8S"><Period>
    <SegmentTemplate duration="4" media="$RepresentationID$$Number$.m4s"/>

    """
  private static let end = "<!-- The end --></Period></MPD>\n"

  private static func video(_ representations: String...) -> String {
    "<AdaptationSet contentType=\"video\">\(representations.joined())</AdaptationSet>"
  }

  private static let main =
    start + video(low, high) + english + german + subtitles + end

  /// Returns the MPD that clients receive while this is stored.
  private func served(
    _ manifest: String = Self.main, storing names: String...
  ) async throws -> String {
    var text = ""
    try await withProxy { test in
      test.origin.serve(
        OriginResource(
          .bytes(Array(manifest.utf8)), contentType: "application/dash+xml", etag: "\"v1\""),
        at: "/main.mpd")
      for id in ["low", "high", "en", "de", "sub"] {
        for number in 1...2 {
          test.origin.serve(
            .synthetic(seed: UInt64(number), length: 500), at: "/\(id)\(number).m4s")
        }
      }
      for path in ["/main.mpd"] + names.map({ "/\($0).m4s" }) {
        try await test.cache.prefetch(Resource(url: test.origin.url(path)))
      }
      test.cache.isOffline = true
      text = try await test.get("/main.mpd").text
    }
    return text
  }

  @Test func `Offline, an MPD describes the Representations of which all is stored`()
    async throws
  {
    #expect(
      try await served(storing: "low1", "low2", "high1", "en1", "de1", "de2", "sub1")
        == Self.start + Self.video(Self.low) + Self.german + Self.end)
    #expect(
      try await served(storing: "high1", "high2", "en1", "en2", "de1", "de2", "sub1", "sub2")
        == Self.start + Self.video(Self.high) + Self.english + Self.german + Self.subtitles
        + Self.end)
  }

  @Test func `If none is whole, those with the longest stored time remain`() async throws {
    #expect(
      try await served(storing: "low2", "high1", "de1")
        == Self.start + Self.video(Self.low, Self.high) + Self.german + Self.end)
  }

  @Test func `Representations whose segments are not known remain`() async throws {
    let unknown = """
      <AdaptationSet contentType="audio"><SegmentTemplate media="$SubNumber$.m4s"/>
      <Representation id="x"/></AdaptationSet>
      """
    #expect(
      try await served(
        Self.start + Self.video(Self.low, Self.high) + Self.english + unknown + Self.end,
        storing: "low1", "low2", "en1")
        == Self.start + Self.video(Self.low) + Self.english + unknown + Self.end)
  }

  @Test func `If nothing is stored, the MPD stays as it is`() async throws {
    #expect(try await served() == Self.main)
  }
}
