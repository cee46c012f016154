// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain
@testable import RefrainStreams

/// Whole DASH streams brought into the cache: the chosen Representations, and nothing else.
@Suite(.timeLimit(.minutes(1))) struct StreamDownloadDASHTests {
  /// A period of 8 seconds with segments of 4.
  private static let main = """
    <MPD type="static" mediaPresentationDuration="PT8S"><Period>
    <SegmentTemplate duration="4" media="$RepresentationID$/$Number$.m4s"
      initialization="$RepresentationID$/init.mp4"/>
    <AdaptationSet contentType="video"><Representation id="low" height="360" bandwidth="1000"/>
    <Representation id="high" height="720" bandwidth="4000"/>
    <Representation id="layer" height="1080" bandwidth="9000" dependencyId="high"/></AdaptationSet>
    <AdaptationSet contentType="video"><SupplementalProperty
      schemeIdUri="http://dashif.org/guidelines/trickmode"/><Representation id="trick"
      height="2160" bandwidth="10"/></AdaptationSet>
    <AdaptationSet contentType="audio" lang="en"><Representation id="en" bandwidth="100"/>
    </AdaptationSet>
    <AdaptationSet contentType="audio" lang="de"><Role schemeIdUri="urn:mpeg:dash:role:2011"
      value="main"/><Representation id="de" bandwidth="100"/>
    <Representation id="dehigh" bandwidth="200"/></AdaptationSet>
    <AdaptationSet mimeType="text/vtt" lang="de"><Representation id="sub" bandwidth="8">
    <BaseURL>sub.vtt</BaseURL><SegmentBase/></Representation></AdaptationSet>
    </Period></MPD>
    """

  private static let ids = ["low", "high", "layer", "trick", "en", "de", "dehigh"]
  private static let names = ["init.mp4", "1.m4s", "2.m4s"]

  private static func serve(_ origin: OriginServer, _ manifest: String = main) {
    origin.serve(
      OriginResource(
        .bytes(Array(manifest.utf8)), contentType: "application/dash+xml", etag: "\"d\"",
        headers: [Field("Cache-Control", "max-age=3600")]), at: "/main.mpd")
    for (number, path) in (ids.flatMap { id in names.map { "/\(id)/\($0)" } } + ["/sub.vtt"])
      .enumerated()
    {
      origin.serve(.synthetic(seed: UInt64(number), length: 500), at: path)
    }
  }

  private static func select(
    _ test: TestCache, _ change: (inout StreamChoice) -> Void = { _ in }
  ) async throws -> (StreamDownload, StreamDownload.Selection) {
    let resource = Resource(url: test.origin.url("/main.mpd"))
    try await test.cache.prefetch(resource)
    let download = StreamDownload(resource, into: test.cache)
    let source = try #require(try await download.source())
    var choice = StreamChoice()
    change(&choice)
    return (download, try await download.select(choice, of: source))
  }

  private static func requested(_ test: TestCache) -> Set<String> {
    let paths = ids.flatMap { id in names.map { "/\(id)/\($0)" } } + ["/sub.vtt"]
    return Set(
      paths.filter { test.origin.log($0).requests.count == 1 }.map {
        String($0.dropFirst().prefix { $0 != "/" && $0 != "." })
      })
  }

  @Test func `The best pictures and the default sound are requested once, and nothing else`()
    async throws
  {
    try await withCache { test in
      Self.serve(test.origin)
      let (download, selection) = try await Self.select(test)
      #expect(selection.variant?.height == 720)
      #expect(selection.renditions.map(\.language) == ["de"])
      #expect(selection.plan.duration == 8 && selection.estimatedBytes == 4200)
      #expect(try await download.run(selection) == 6 * 500)
      #expect(Self.requested(test) == ["high", "dehigh"])
      _ = try await download.run(selection)
      #expect(test.origin.log("/high/1.m4s").requests.count == 1)
      let part = try await test.cache.entry(for: test.origin.url("/high/1.m4s"))
      #expect(part?.group == test.cache.key(for: Resource(url: test.origin.url("/main.mpd"))))
    }
  }

  @Test func `Qualities and languages are chosen as for HLS`() async throws {
    try await withCache { test in
      Self.serve(test.origin)
      let (download, selection) = try await Self.select(test) { choice in
        choice.quality = .worst
        choice.audio = .all
        choice.subtitles = .some(["de"])
      }
      #expect(selection.renditions.map(\.kind) == [.audio, .audio, .subtitles])
      try await download.run(selection)
      #expect(Self.requested(test) == ["low", "en", "de", "sub"])
      let error = await #expect(throws: MediaCacheError.self) {
        try await Self.select(test) { $0.audio = .some(["fr"]) }
      }
      #expect(error?.remedy == "Choose among en, de.")
    }
  }

  @Test func `A period without the language has its default`() async throws {
    try await withCache { test in
      let advertisement = """
        <Period duration="PT1S"><AdaptationSet contentType="audio" lang="en">
        <BaseURL>ad.mp4</BaseURL><Representation id="ad" bandwidth="1"/></AdaptationSet></Period><Period start="PT1S">
        """
      Self.serve(test.origin, Self.main.replacing("<Period>", with: advertisement))
      let (_, selection) = try await Self.select(test) { $0.audio = .some(["de"]) }
      #expect(selection.plan.parts.first?.url == test.origin.url("/ad.mp4"))
      #expect(selection.renditions.map(\.language) == ["de"])
      #expect(selection.plan.duration == 8)
    }
  }

  /// Returns the chosen Representations of an advertisement before the main period.
  private static func chosen(
    ofAdvertisement sets: String, _ change: (inout StreamChoice) -> Void
  ) throws -> [String] {
    let advertisement = "<Period duration=\"PT1S\">\(sets)</Period><Period start=\"PT1S\">"
    let text = main.replacing("<Period>", with: advertisement)
    let presentation = try #require(try DASHPresentation(Array(text.utf8), url: mpdURL))
    var choice = StreamChoice()
    change(&choice)
    return try #require(try presentation.choose(choice).first).representations.map(\.id)
  }

  @Test func `What a period lacks does not change the rest of the choice`() throws {
    let pictures = """
      <AdaptationSet contentType="video"><Representation id="small" height="180" bandwidth="1"/>
      <Representation id="large" height="720" bandwidth="9"/></AdaptationSet>
      """
    let sound = """
      <AdaptationSet contentType="audio" lang="fr"><Representation id="fr"/></AdaptationSet>
      <AdaptationSet contentType="audio" lang="en"><Representation id="en"/></AdaptationSet>
      """
    let text = """
      <AdaptationSet contentType="text" lang="de"><Representation id="text"/></AdaptationSet>
      """
    let withText = try Self.chosen(ofAdvertisement: pictures + sound + text) { choice in
      choice.quality = .height(360)
      choice.audio = .some(["de"])
      choice.subtitles = .some(["de"])
    }
    #expect(withText == ["small", "fr", "text"])
    let silent = try Self.chosen(ofAdvertisement: pictures + sound) { choice in
      choice.audio = .none
      choice.subtitles = .some(["de"])
    }
    #expect(silent == ["large"])
    let english = try Self.chosen(ofAdvertisement: pictures + sound) { choice in
      choice.quality = .worst
      choice.audio = .some(["de", "en"])
    }
    #expect(english == ["small", "en"])
    let withoutHeights = pictures.replacing("height", with: "title") + sound
    let best = try Self.chosen(ofAdvertisement: withoutHeights) { choice in
      choice.quality = .height(360)
      choice.audio = .some(["en"])
    }
    #expect(best == ["large", "en"])
  }

  @Test(arguments: [
    ("type=\"static\"", "type=\"dynamic\"", "live stream"),
    ("<Period>", "<Period xlink:href=\"https://b.example/\">", "lies elsewhere"),
    ("$Number$", "$SubNumber$", "unknown template"),
    ("mediaPresentationDuration", "title", "does not state how long it is"),
  ])
  func `A stream whose segments are not known is refused`(
    _ text: String, _ replacement: String, _ reason: String
  ) async throws {
    try await withCache { test in
      Self.serve(test.origin, Self.main.replacing(text, with: replacement))
      let error = await #expect(throws: MediaCacheError.self) { try await Self.select(test) }
      #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
      #expect(error?.remedy.isEmpty == false)
      #expect(Self.requested(test).isEmpty)
    }
  }
}
