// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

@testable import Refrain
@testable import RefrainStreams

/// Whether a stream is stored as a whole, by its stored playlists.
@Suite(.timeLimit(.minutes(1))) struct StreamCompletenessTests {
  private static let main = """
    #EXTM3U
    #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="en",URI="sound.m3u8"
    #EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO="a"
    low.m3u8
    #EXT-X-STREAM-INF:BANDWIDTH=2,AUDIO="a"
    high.m3u8

    """

  private static func list(_ name: String, isLive: Bool = false) -> String {
    "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n\(name)0.ts\n#EXTINF:2,\n\(name)1.ts\n"
      + (isLive ? "" : "#EXT-X-ENDLIST\n")
  }

  private static let mpd = """
    <MPD type="static" mediaPresentationDuration="PT4S"><Period>
    <AdaptationSet contentType="video"><Representation id="low" bandwidth="1">
    <SegmentTemplate duration="2" startNumber="0" media="low$Number$.ts"/></Representation>
    </AdaptationSet><AdaptationSet contentType="audio"><Representation id="sound" bandwidth="1">
    <SegmentTemplate duration="2" startNumber="0" media="sound$Number$.ts"/></Representation>
    </AdaptationSet></Period></MPD>
    """

  /// Stores resources of a stream one after the other.
  private func store(_ paths: [String], in test: TestCache, isLive: Bool = false) async throws {
    for path in paths {
      let name = String(path.prefix { $0 != "." })
      let text =
        path == "main.m3u8"
        ? Self.main
        : path.hasSuffix("mpd")
          ? Self.mpd
          : path.hasSuffix("m3u8") ? Self.list(name, isLive: isLive) : path
      let type =
        path.hasSuffix("mpd")
        ? "application/dash+xml"
        : path.hasSuffix("m3u8") ? "application/vnd.apple.mpegurl" : "video/mp2t"
      test.origin.serve(
        OriginResource(.bytes(Array(text.utf8)), contentType: type, etag: "\"1\""), at: "/\(path)")
      try await test.cache.prefetch(test.origin.url("/\(path)"))
    }
  }

  private func completeness(_ name: String, _ test: TestCache) async throws -> StreamCompleteness? {
    try await test.cache.completeness(ofStream: CacheKey(url: test.origin.url("/\(name)")))
  }

  @Test func `A playlist is complete with its last segment`() async throws {
    try await withCache { test in
      #expect(try await completeness("low.m3u8", test) == nil)
      try await store(["low.m3u8", "low0.ts"], in: test)
      #expect(
        try await completeness("low.m3u8", test)
          == StreamCompleteness(isComplete: false, seconds: 2))
      try await store(["low1.ts"], in: test)
      #expect(
        try await completeness("low.m3u8", test) == StreamCompleteness(isComplete: true, seconds: 4)
      )
    }
  }

  @Test func `A stream is complete with one quality and its sound, if nothing else is begun`()
    async throws
  {
    try await withCache { test in
      try await store(["main.m3u8"], in: test)
      #expect(try await completeness("main.m3u8", test) == nil)
      try await store(["low.m3u8", "high.m3u8", "low0.ts", "low1.ts"], in: test)
      #expect(
        try await completeness("main.m3u8", test)
          == StreamCompleteness(isComplete: false, seconds: 4))
      try await store(["sound.m3u8", "sound0.ts", "sound1.ts"], in: test)
      #expect(
        try await completeness("main.m3u8", test)
          == StreamCompleteness(isComplete: true, seconds: 4))
      try await store(["high0.ts"], in: test)
      #expect(try await completeness("main.m3u8", test)?.isComplete == false)
    }
  }

  @Test func `An MPD is complete with one quality of pictures and of sound`() async throws {
    try await withCache { test in
      try await store(["x.mpd", "low0.ts", "low1.ts"], in: test)
      #expect(
        try await completeness("x.mpd", test) == StreamCompleteness(isComplete: false, seconds: 4))
      try await store(["sound0.ts", "sound1.ts"], in: test)
      #expect(
        try await completeness("x.mpd", test) == StreamCompleteness(isComplete: true, seconds: 4))
    }
  }

  @Test func `Of a live stream that is unknown`() async throws {
    try await withCache { test in
      try await store(["low.m3u8", "low0.ts", "low1.ts"], in: test, isLive: true)
      #expect(try await completeness("low.m3u8", test) == nil)
    }
  }
}
