// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy
@testable import RefrainStreams

/// Which entries the proxy records as parts of a stream.
@Suite(.timeLimit(.minutes(1))) struct StreamGroupTests {
  private static let main = """
    #EXTM3U
    #EXT-X-STREAM-INF:BANDWIDTH=1000
    low.m3u8

    """
  private static let list = """
    #EXTM3U
    #EXT-X-TARGETDURATION:2
    #EXT-X-KEY:METHOD=AES-128,URI="/keys/1"
    #EXTINF:2,
    0.ts
    #EXTINF:2,
    1.ts
    #EXT-X-ENDLIST

    """
  private static let parts = ["/a/0.ts", "/a/1.ts", "/keys/1"]

  /// Serves a stream at `/a/main.m3u8`, and a song beside its segments.
  private func serve(_ test: TestProxy) {
    test.serve(Self.main, at: "/a/main.m3u8")
    test.serve(Self.list, at: "/a/low.m3u8")
    for (seed, path) in (Self.parts + ["/a/song.mp3"]).enumerated() {
      var resource = OriginResource.synthetic(seed: UInt64(seed), length: 2000)
      resource.headers = [Field("Cache-Control", "public, max-age=900")]
      test.origin.serve(resource, at: path)
    }
  }

  private func get(_ paths: [String], _ test: TestProxy) async throws {
    for path in paths {
      let reply = try await test.get(path)
      #expect(reply.status == 200, "\(path)")
    }
  }

  /// Returns the keys of all streams, each with its number of parts.
  private func streams(_ test: TestProxy) async throws -> [String: Int] {
    var streams: [String: Int] = [:]
    for case .group(let stream) in try await test.cache.storedItems() {
      streams[stream.key.rawValue] = stream.parts
    }
    return streams
  }

  @Test func `A stream that was played is one item, and a song beside it is none of it`()
    async throws
  {
    try await withProxy { test in
      serve(test)
      try await get(["/a/main.m3u8", "/a/low.m3u8", "/a/song.mp3"] + Self.parts, test)
      #expect(try await streams(test) == [test.key("/a/main.m3u8").rawValue: 4])
      #expect(try await test.cache.entry(for: test.key("/a/song.mp3"))?.group == nil)
    }
  }

  @Test func `A playlist that is opened by itself after a restart stays in its stream`()
    async throws
  {
    try await withSuccession { origin, directory in
      try await withProxy(directory: directory, origin: origin) { test in
        serve(test)
        try await get(["/a/main.m3u8", "/a/low.m3u8", "/a/0.ts"], test)
      }
      try await withProxy(directory: directory, origin: origin) { test in
        try await get(["/a/low.m3u8", "/a/1.ts", "/keys/1"], test)
        #expect(try await streams(test) == [test.key("/a/main.m3u8").rawValue: 4])
      }
    }
  }

  @Test func `A playlist that was opened by itself first moves to its multivariant playlist`()
    async throws
  {
    try await withProxy { test in
      serve(test)
      try await get(["/a/low.m3u8", "/a/0.ts"], test)
      #expect(try await streams(test) == [test.key("/a/low.m3u8").rawValue: 1])
      try await get(["/a/main.m3u8", "/a/low.m3u8", "/a/1.ts"], test)
      // What was stored before stays a part of what was opened then.
      #expect(
        try await streams(test) == [
          test.key("/a/main.m3u8").rawValue: 2, test.key("/a/low.m3u8").rawValue: 1,
        ])
    }
  }

  @Test func `A redirected playlist belongs to the URL that was requested`() async throws {
    try await withProxy { test in
      serve(test)
      test.origin.script("/go.m3u8", .on(.all, .redirect(302, to: "/a/low.m3u8")))
      let reply = try await test.get("/go.m3u8")
      #expect(reply.status == 302)
      try await get(["/a/low.m3u8"] + Self.parts, test)
      #expect(try await streams(test) == [test.key("/go.m3u8").rawValue: 4])
    }
  }

  @Test func `The versions of a live playlist are parts of its one stream`() async throws {
    let list = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:"
    try await withProxy { test in
      serve(test)
      for (sequence, name) in ["live.m3u8", "live.m3u8?_HLS_msn=1"].enumerated() {
        test.serve("\(list)\(sequence)\n#EXTINF:2,\n\(sequence).ts\n", at: "/a/\(name)")
        try await get(["/a/\(name)", "/a/\(sequence).ts"], test)
      }
      #expect(try await streams(test) == [test.key("/a/live.m3u8").rawValue: 3])
    }
  }

  @Test func `Songs of a list are no parts of a stream`() async throws {
    try await withProxy { test in
      serve(test)
      test.serve("#EXTM3U\n#EXTINF:200,A song\nsong.mp3\n", at: "/a/songs.m3u8")
      try await get(["/a/songs.m3u8", "/a/song.mp3"], test)
      #expect(try await streams(test).isEmpty)
    }
  }

  @Test func `The files that an MPD names are its parts, and others beside them are not`()
    async throws
  {
    let mpd = """
      <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"><Period><AdaptationSet>
      <SegmentTemplate media="chunk-$RepresentationID$-$Number$.m4s" initialization="init.mp4"/>
      <Representation id="1"/></AdaptationSet></Period></MPD>
      """
    try await withProxy { test in
      serve(test)
      test.serve(mpd, at: "/a/film.mpd", type: "application/dash+xml")
      for path in ["/a/init.mp4", "/a/chunk-1-1.m4s", "/a/chunk-1-2.m4s", "/a/other.mp4"] {
        test.origin.serve(.synthetic(seed: 9, length: 2000), at: path)
      }
      try await get(
        [
          "/a/film.mpd", "/a/init.mp4", "/a/chunk-1-1.m4s", "/a/chunk-1-2.m4s", "/a/other.mp4",
          "/a/song.mp3",
        ], test)
      #expect(try await streams(test) == [test.key("/a/film.mpd").rawValue: 3])
    }
  }

  @Test func `A shared cache relays keys, and stores the segments`() async throws {
    try await withReverseProxy { test in
      serve(test)
      for _ in 0..<2 {
        for path in ["/a/low.m3u8"] + Self.parts {
          let reply = try await test.reply(to: path)
          #expect(reply.status == 200, "\(path)")
        }
      }
      #expect(try await test.cache.entry(for: test.key("/keys/1")) == nil)
      #expect(try await test.cache.entry(for: test.key("/a/0.ts"))?.isComplete == true)
      #expect(test.origin.log("/keys/1").requests.count == 2)
      #expect(test.origin.log("/a/0.ts").requests.count == 1)
    }
  }

  @Test func `Known parts are bounded, and the newest stream of a playlist counts`() throws {
    let known = KnownParts()
    let playlist = try #require(URL(string: "http://h/low.m3u8"))
    let segment = try #require(URL(string: "http://h/0.ts"))
    func parts(_ names: [String: StreamParts.Role]) throws -> StreamParts {
      var text = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n"
      for (name, role) in names {
        text += role == .other ? "#EXT-X-STREAM-INF:BANDWIDTH=1\n\(name)\n" : "\(name)\n"
      }
      var rewriting = ManifestRewriting(
        url: playlist, clientTarget: "/x", removesSteering: true, target: { _ in nil })
      let rewritten = try rewriting.rewrite(Array(text.utf8))
      return try #require(rewritten).parts
    }
    known.insert(try parts(["0.ts": .segment]), of: playlist, in: CacheKey(url: playlist))
    #expect(known.contains(segment) && !known.contains(playlist))
    #expect(known.policy(of: segment)?.group?.first == CacheKey(url: playlist))
    for number in 0..<16_500 {
      let url = try #require(URL(string: "http://h/\(number)/main.m3u8"))
      known.insert(redirected: url, in: CacheKey(url: url))
    }
    let main = try #require(URL(string: "http://h/main.m3u8"))
    known.insert(try parts(["low.m3u8": .other]), of: main, in: CacheKey(url: main))
    #expect(known.policy(of: playlist)?.group?.first == CacheKey(url: main))
    // Named as a segment by another playlist, it stays a playlist of its stream.
    let hostile = try #require(URL(string: "http://h/hostile.m3u8"))
    known.insert(
      try parts(["low.m3u8": .segment, "1.ts": .segment]), of: hostile, in: CacheKey(url: hostile))
    #expect(known.policy(of: playlist)?.group?.first == CacheKey(url: main))
    #expect(!known.contains(playlist))
  }
}
