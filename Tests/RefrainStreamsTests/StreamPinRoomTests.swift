// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain
@testable import RefrainStreams

/// Pinned streams that do not fit: most are refused early, and no run leaves pins behind.
@Suite(.timeLimit(.minutes(1))) struct StreamPinRoomTests {
  /// A playlist of segments of 4 seconds, named by a prefix and a number.
  private static func list(_ prefix: String, _ count: Int, _ tags: String = "") -> String {
    let segments = (0..<count).map { "#EXTINF:4,\n\(prefix)\($0).ts\n" }.joined()
    return "#EXTM3U\n#EXT-X-TARGETDURATION:4\n\(tags)\(segments)#EXT-X-ENDLIST\n"
  }

  private static func serve(_ text: String, at path: String, _ test: TestCache) {
    PinnedStream.serve(text, at: path, test.origin, "max-age=3600")
  }

  private static func serveSegments(
    _ prefix: String, _ count: Int, length: Int64, _ test: TestCache
  ) {
    for index in 0..<count {
      var segment = OriginResource.synthetic(seed: UInt64(index), length: length)
      segment.headers = [Field("Cache-Control", "max-age=3600")]
      test.origin.serve(segment, at: "/\(prefix)\(index).ts")
    }
  }

  private static func pinned(_ test: TestCache) async throws -> Set<String> {
    Set(try await test.cache.entries().filter(\.isPinned).map { $0.url.path() })
  }

  private static func refusal(
    _ test: TestCache, _ path: String, _ choice: StreamChoice = StreamChoice()
  ) async throws -> MediaCacheError {
    let error = await #expect(throws: MediaCacheError.self) {
      try await PinnedStream.store(
        test, PinnedStream.resource(test, path), choice, isPinned: true)
    }
    return try #require(error)
  }

  @Test func `A stream whose size only its segments show is refused by the first of them`()
    async throws
  {
    try await withCache({ $0.limit = 1 << 20 }) { test in
      Self.serve(Self.list("s", 10), at: "/list.m3u8", test)
      Self.serveSegments("s", 10, length: 300_000, test)
      let error = try await Self.refusal(test, "/list.m3u8")
      #expect(error.code == .storage)
      #expect(error.reason.contains("/list.m3u8 cannot be pinned: it takes about"))
      #expect(test.origin.log("/s0.ts").requests.count == 1)
      for index in 1..<10 { #expect(test.origin.log("/s\(index).ts").requests.isEmpty) }
      #expect(try await Self.pinned(test).isEmpty)
      #expect(try await test.cache.entry(for: test.origin.url("/list.m3u8")) == nil)
    }
  }

  @Test func `A refused stream leaves what was stored before, and no other playlist`() async throws
  {
    try await withCache({ $0.limit = 1 << 20 }) { test in
      Self.serve(
        "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=8000000\nlist.m3u8\n", at: "/main.m3u8", test)
      Self.serve(Self.list("s", 10), at: "/list.m3u8", test)
      Self.serveSegments("s", 10, length: 300_000, test)
      try await test.cache.prefetch(test.origin.url("/main.m3u8"))
      _ = try await Self.refusal(test, "/main.m3u8")
      let stored = try await test.cache.entries().map { $0.url.path() }
      #expect(stored.contains("/main.m3u8") && !stored.contains("/list.m3u8"), "\(stored)")
    }
  }

  @Test func `What shows the size of a stream is fetched once`() async throws {
    try await withCache({ $0.limit = 8 << 20 }) { test in
      Self.serve(Self.list("s", 5), at: "/list.m3u8", test)
      Self.serveSegments("s", 5, length: 30_000, test)
      try await PinnedStream.pin(test, first: "/list.m3u8")
      for index in 0..<5 {
        #expect(try await test.settledLog("/s\(index).ts").bytesSentTwice == 0)
      }
      #expect(try await Self.pinned(test).count == 6)
    }
  }

  private static let main = """
    #EXTM3U
    #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="de",LANGUAGE="de",DEFAULT=YES,URI="de.m3u8"
    #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="en",LANGUAGE="en",URI="en.m3u8"
    #EXT-X-STREAM-INF:BANDWIDTH=8000000,AUDIO="a"
    v.m3u8

    """

  @Test func `Stored sound does not make the pictures seem smaller`() async throws {
    // 8 Mbit/s for 8 seconds.
    try await withCache({ $0.limit = 6 << 20 }) { test in
      Self.serve(Self.main, at: "/main.m3u8", test)
      for name in ["v", "de"] {
        Self.serve(Self.list(name, 2), at: "/\(name).m3u8", test)
        Self.serveSegments(name, 2, length: 3000, test)
      }
      for path in ["/de0.ts", "/de1.ts"] {
        try await test.cache.prefetch(PinnedStream.resource(test, path))
      }
      let error = try await Self.refusal(test, "/main.m3u8")
      #expect(error.reason.contains("main.m3u8 cannot be pinned: it takes about"), "\(error)")
      #expect(test.origin.log("/v0.ts").requests.isEmpty)
      #expect(try await Self.pinned(test).isEmpty)
    }
  }

  @Test func `Sound in further languages counts`() async throws {
    try await withCache({ $0.limit = 6 << 20 }) { test in
      Self.serve(
        Self.main.replacing("BANDWIDTH=8000000", with: "BANDWIDTH=1000000"), at: "/main.m3u8",
        test)
      for (name, length) in [("v", 3000), ("de", 3000), ("en", 4_000_000)] {
        Self.serve(Self.list(name, 2), at: "/\(name).m3u8", test)
        Self.serveSegments(name, 2, length: Int64(length), test)
      }
      var choice = StreamChoice()
      choice.audio = .some(["de", "en"])
      let error = try await Self.refusal(test, "/main.m3u8", choice)
      #expect(error.reason.contains("cannot be pinned: it takes about"), "\(error)")
      #expect(test.origin.log("/v0.ts").requests.isEmpty)
      #expect(test.origin.log("/en1.ts").requests.isEmpty)
    }
  }

  @Test func `A download that runs out of room lifts the pins that it has set, and no others`()
    async throws
  {
    try await withCache({ $0.limit = 1_500_000 }) { test in
      // The stated rate is much too low.
      Self.serve(Self.list("s", 6, "#EXT-X-BITRATE:1\n"), at: "/list.m3u8", test)
      Self.serveSegments("s", 6, length: 400_000, test)
      Self.serve("other", at: "/other.ts", test)
      for path in ["/other.ts", "/s1.ts"] {
        let resource = PinnedStream.resource(test, path)
        try await test.cache.prefetch(resource)
        try await test.cache.pin(resource)
      }
      let error = try await Self.refusal(test, "/list.m3u8")
      #expect(error.code == .storage)
      #expect(error.reason.hasSuffix(" The pins that this download had set were lifted."))
      #expect(try await Self.pinned(test) == ["/other.ts", "/s1.ts"])
    }
  }

  @Test func `Without room, the same bytes are not requested again`() async throws {
    try await withCache({ $0.limit = 3_000_000 }) { test in
      for path in ["/held.ts", "/new.ts"] {
        test.origin.serve(.synthetic(seed: 1, length: 2_000_000), at: path)
      }
      // An entry in use is not evicted.
      let reader = try await test.cache.open(PinnedStream.resource(test, "/held.ts"))
      _ = try await reader.bytes(in: 0..<2_000_000)
      let error = await #expect(throws: MediaCacheError.self) {
        try await test.cache.prefetch(PinnedStream.resource(test, "/new.ts"))
      }
      #expect(error?.reason == "The cache has no room to store the bytes.")
      // At most once more is what was not stored of them requested, 1.15 MB.
      #expect(try await test.settledLog("/new.ts").bytesSentTwice < 1_500_000)
      reader.cancel()
    }
  }
}
