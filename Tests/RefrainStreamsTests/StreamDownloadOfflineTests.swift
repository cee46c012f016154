// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain
@testable import RefrainStreams

/// Downloads of streams without a network: what is stored stands for the stream.
@Suite(.timeLimit(.minutes(1))) struct StreamDownloadOfflineTests {
  private static let main = """
    #EXTM3U
    #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="de",LANGUAGE="de",DEFAULT=YES,URI="de/list.m3u8"
    #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="en",LANGUAGE="en",URI="en/list.m3u8"
    #EXT-X-STREAM-INF:BANDWIDTH=1000000,RESOLUTION=640x360,AUDIO="a"
    low/list.m3u8
    #EXT-X-STREAM-INF:BANDWIDTH=3000000,RESOLUTION=1280x720,AUDIO="a"
    high/list.m3u8

    """
  private static let description = """
    <MPD type="static" mediaPresentationDuration="PT8S"><Period>
    <SegmentTemplate duration="4" startNumber="0" media="$RepresentationID$/$Number$.ts"/>
    <AdaptationSet contentType="video"><Representation id="low" height="360" bandwidth="1000"/>
    <Representation id="high" height="720" bandwidth="4000"/></AdaptationSet>
    <AdaptationSet contentType="audio" lang="de"><Representation id="de" bandwidth="100"/>
    </AdaptationSet><AdaptationSet contentType="audio" lang="en">
    <Representation id="en" bandwidth="100"/></AdaptationSet></Period></MPD>
    """
  private static let folders = ["low", "high", "de", "en"]

  private static func serve(_ origin: OriginServer) {
    PinnedStream.serve(main, at: "/main.m3u8", origin, "max-age=3600")
    origin.serve(
      OriginResource(
        .bytes(Array(description.utf8)), contentType: "application/dash+xml", etag: "\"d\"",
        headers: [Field("Cache-Control", "max-age=3600")]), at: "/main.mpd")
    for folder in folders {
      PinnedStream.serve(
        "#EXTM3U\n#EXTINF:4,\n0.ts\n#EXTINF:4,\n1.ts\n#EXT-X-ENDLIST\n",
        at: "/\(folder)/list.m3u8", origin, "max-age=3600")
      for index in 0..<2 {
        PinnedStream.serve("media", at: "/\(folder)/\(index).ts", origin, "max-age=3600")
      }
    }
  }

  private static func download(
    _ test: TestCache, _ path: String, _ change: (inout StreamChoice) -> Void = { _ in }
  ) async throws -> StreamDownload.Selection {
    let resource = PinnedStream.resource(test, path)
    try await test.cache.prefetch(resource)
    let download = StreamDownload(resource, into: test.cache)
    let source = try #require(try await download.source())
    var choice = StreamChoice()
    change(&choice)
    let selection = try await download.select(choice, of: source)
    try await download.run(selection)
    return selection
  }

  @Test(arguments: ["/main.m3u8", "/main.mpd"])
  func `The stored quality and language stand for a choice that names none`(
    _ path: String
  ) async throws {
    try await withCache { test in
      Self.serve(test.origin)
      _ = try await Self.download(test, path) { choice in
        choice.quality = .worst
        choice.audio = .some(["en"])
      }
      test.cache.isOffline = true
      let selection = try await Self.download(test, path)
      #expect(selection.variant?.height == 360)
      #expect(selection.renditions.map(\.language) == ["en"])
    }
  }

  @Test func `A chosen quality that is not stored is named in the error`() async throws {
    try await withCache { test in
      Self.serve(test.origin)
      _ = try await Self.download(test, "/main.m3u8") { $0.quality = .worst }
      test.cache.isOffline = true
      let playlist = await #expect(throws: MediaCacheError.self) {
        try await Self.download(test, "/main.m3u8") { $0.quality = .best }
      }
      #expect(playlist?.code == .offline)
      #expect(
        playlist?.reason
          == "The playlist \(test.origin.url("/high/list.m3u8").absoluteString) is not stored, and "
          + "no request is sent while offline.")
      test.cache.isOffline = false
      try await test.cache.prefetch(PinnedStream.resource(test, "/high/list.m3u8"))
      test.cache.isOffline = true
      let part = await #expect(throws: MediaCacheError.self) {
        try await Self.download(test, "/main.m3u8") { $0.quality = .height(720) }
      }
      #expect(part?.code == .offline && part?.reason.contains("/high/") == true)
      // The best one that is stored as a whole.
      #expect(try await Self.download(test, "/main.m3u8").variant?.height == 360)
    }
  }

  @Test func `With a network, the best quality is fetched whatever is stored`() async throws {
    try await withCache { test in
      Self.serve(test.origin)
      _ = try await Self.download(test, "/main.m3u8") { $0.quality = .worst }
      #expect(try await Self.download(test, "/main.m3u8").variant?.height == 720)
    }
  }
}
