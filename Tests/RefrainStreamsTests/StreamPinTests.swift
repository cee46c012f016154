// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain
@testable import RefrainStreams

/// Pinned streams: all parts are pinned, also those that the origin forbids to store.
@Suite(.timeLimit(.minutes(1))) struct StreamPinTests {
  @Test func `Stored parts are pinned without a request`() async throws {
    try await withCache { test in
      PinnedStream.serve(test.origin)
      for path in PinnedStream.paths.dropFirst() {
        try await test.cache.prefetch(PinnedStream.resource(test, path))
      }
      try await PinnedStream.pin(test)
      #expect(try await PinnedStream.pinned(test) == PinnedStream.paths)
      for path in PinnedStream.paths {
        #expect(test.origin.log(path).requests.count == 1, "\(path)")
      }
    }
  }

  @Test func `Stored parts are pinned before another one is fetched`() async throws {
    try await withCache { test in
      PinnedStream.serve(test.origin)
      try await test.cache.prefetch(PinnedStream.resource(test, "/1.ts"))
      let resource = PinnedStream.resource(test)
      try await test.cache.prefetch(resource)
      let download = StreamDownload(resource, into: test.cache, isPinned: true)
      let source = try #require(try await download.source())
      let selection = try await download.select(StreamChoice(), of: source)
      let name = KeyHash.name(of: test.cache.key(for: PinnedStream.resource(test, "/1.ts")))
      let stored = test.cache.budget.entryDirectory(named: name)
      let wasPinned = Mutex<[Bool]>([])
      var reports = StreamDownload.Reports()
      reports.began = { _, _ in
        let isPinned = (try? stored.isPinned) == true
        wasPinned.withLock { $0.append(isPinned) }
      }
      try await download.run(selection, reports: reports)
      #expect(wasPinned.withLock { $0 } == [true, true])
      #expect(try await PinnedStream.pinned(test) == PinnedStream.paths)
    }
  }

  @Test func `A part that is stored in another representation alone is fetched`() async throws {
    try await withCache { test in
      PinnedStream.serve(test.origin)
      test.origin.serve(
        OriginResource(
          .bytes(Array("part".utf8)), contentType: "video/mp2t", etag: "\"part\"",
          headers: [Field("Cache-Control", "max-age=3600"), Field("Vary", "X-Kind")]),
        at: "/0.ts")
      var part = PinnedStream.resource(test, "/0.ts")
      part.headers["X-Kind"] = "other"
      try await test.cache.prefetch(part)
      var resource = PinnedStream.resource(test)
      resource.headers["X-Kind"] = "own"
      try await PinnedStream.pin(test, resource)
      part.headers["X-Kind"] = "own"
      #expect(try await test.cache.entry(for: part)?.isPinned == true)
      #expect(test.origin.log("/0.ts").requests.count == 2)
    }
  }

  @Test(arguments: [true, false])
  func `A part of whose own representation only some bytes are stored is completed`(
    _ isPinned: Bool
  ) async throws {
    try await withCache { test in
      PinnedStream.serve(test.origin)
      func representation(_ seed: UInt64) -> OriginResource {
        var resource = OriginResource.synthetic(seed: seed, length: 300_000)
        resource.headers = [Field("Cache-Control", "max-age=3600"), Field("Vary", "X-Kind")]
        return resource
      }
      test.origin.serve(representation(1), at: "/0.ts")
      test.origin.script(
        "/0.ts",
        .on(.where { $0.headers.first("X-Kind") == "own" }, .answerFrom(representation(2))))
      var part = PinnedStream.resource(test, "/0.ts")
      part.headers["X-Kind"] = "other"
      try await test.cache.prefetch(part)
      part.headers["X-Kind"] = "own"
      try await test.cache.prefetch(part, range: 0..<100)
      #expect(try await test.cache.entry(for: part)?.isComplete == false)
      var resource = PinnedStream.resource(test)
      resource.headers["X-Kind"] = "own"
      try await PinnedStream.store(test, resource, isPinned: isPinned)
      let entry = try await test.cache.entry(for: part)
      #expect(entry?.isComplete == true && entry?.isPinned == isPinned)
      #expect(try await test.settledLog("/0.ts").bytesSentTwice == 0)
    }
  }

  @Test func `A redirected playlist is pinned under both URLs`() async throws {
    try await withCache { test in
      PinnedStream.serve(test.origin)
      PinnedStream.serve("", at: "/moved.m3u8", test.origin, "max-age=3600")
      test.origin.script(
        "/moved.m3u8",
        .on(.all, .redirect(302, to: test.origin.url("/main.m3u8").absoluteString)))
      try await PinnedStream.pin(test, first: "/moved.m3u8")
      #expect(try await PinnedStream.pinned(test) == PinnedStream.paths)
      let moved = try await test.cache.entry(for: PinnedStream.resource(test, "/moved.m3u8"))
      #expect(moved?.isPinned == true)
    }
  }

  @Test func `The pins of all parts are lifted together`() async throws {
    try await withCache { test in
      PinnedStream.serve(test.origin)
      try await PinnedStream.pin(test)
      PinnedStream.serve("other", at: "/other.ts", test.origin, "max-age=3600")
      let other = PinnedStream.resource(test, "/other.ts")
      try await test.cache.pin(other)
      let download = StreamDownload(PinnedStream.resource(test), into: test.cache)
      #expect(try await download.unpin() == PinnedStream.paths.count)
      #expect(try await PinnedStream.pinned(test).isEmpty)
      #expect(try await download.unpin() == 0)
      #expect(try await test.cache.entry(for: other)?.isPinned == true)
      #expect(try await test.cache.completeFile(for: PinnedStream.resource(test, "/0.ts")) != nil)
    }
  }

  @Test func `A part that another pinned stream needs stays pinned`() async throws {
    try await withCache { test in
      PinnedStream.serve(test.origin)
      PinnedStream.serve(
        """
        #EXTM3U
        #EXT-X-KEY:METHOD=AES-128,URI="key"
        #EXTINF:4,
        0.ts
        #EXT-X-ENDLIST

        """, at: "/other.m3u8", test.origin, "max-age=3600")
      try await PinnedStream.pin(test)
      try await PinnedStream.pin(test, first: "/other.m3u8")
      _ = try await StreamDownload(PinnedStream.resource(test), into: test.cache).unpin()
      #expect(try await PinnedStream.pinned(test) == ["/key", "/0.ts"])
      let other = PinnedStream.resource(test, "/other.m3u8")
      _ = try await StreamDownload(other, into: test.cache).unpin()
      #expect(try await PinnedStream.pinned(test).isEmpty)
    }
  }

  @Test func `The parts of a stream are found by the URL after redirects`() async throws {
    try await withCache { test in
      PinnedStream.serve(test.origin)
      let main = """
        #EXTM3U
        #EXT-X-STREAM-INF:BANDWIDTH=8000000
        list.m3u8

        """
      test.origin.serve(
        OriginResource(.bytes(Array(main.utf8)), contentType: "text/plain", etag: "\"main\""),
        at: "/main.m3u8")
      PinnedStream.serve("", at: "/play", test.origin, "max-age=3600")
      test.origin.script(
        "/play", .on(.all, .redirect(302, to: test.origin.url("/main.m3u8").absoluteString)))
      try await PinnedStream.pin(test, first: "/play")
      #expect(try await PinnedStream.pinned(test) == PinnedStream.paths)
      let first = PinnedStream.resource(test, "/play")
      _ = try await StreamDownload(first, into: test.cache).unpin()
      #expect(try await PinnedStream.pinned(test).isEmpty)
      let removed = try await test.cache.remove(stream: test.cache.key(for: first))
      #expect(removed?.parts == PinnedStream.paths.count)
    }
  }

  @Test func `The pins of the stream itself need no further room`() async throws {
    try await withCache({ $0.limit = 12 << 20 }) { test in
      PinnedStream.serve(test.origin)
      try await PinnedStream.pin(test)
      let budget = test.cache.budget
      let room = try #require(budget.pinnableBytes)
      let keys = PinnedStream.paths.map { test.cache.key(for: PinnedStream.resource(test, $0)) }
      let all = room - Int64(keys.count) * EntryDirectory.pinnedBytes(allocated: 0, length: 0)
      let cache = test.cache
      try await cache.checkRoomToPin("own", keys, lengths: all)
      await #expect(throws: MediaCacheError.self) {
        try await cache.checkRoomToPin("own", keys, lengths: all + 1)
      }
      await #expect(throws: MediaCacheError.self) {
        try await cache.checkRoomToPin("other", [], lengths: all)
      }
    }
  }
}
