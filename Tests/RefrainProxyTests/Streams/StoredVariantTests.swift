// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy

/// Multivariant playlists while the origin cannot be reached: they name what is stored.
@Suite(.timeLimit(.minutes(1))) struct StoredVariantTests {
  private static let audio =
    "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"de\",LANGUAGE=\"de\",URI=\"de.m3u8\"\n"
  private static let subtitles =
    "#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"s\",NAME=\"de\",URI=\"sub.m3u8\"\n"
  private static let low =
    "#EXT-X-STREAM-INF:BANDWIDTH=1000,AUDIO=\"a\",SUBTITLES=\"s\"\nlow.m3u8\n"
  private static let high =
    "#EXT-X-STREAM-INF:BANDWIDTH=2000,AUDIO=\"a\",SUBTITLES=\"s\"\nhigh.m3u8\n"
  private static let frames = "#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=10,URI=\"frames.m3u8\"\n"
  private static let main = "#EXTM3U\n" + audio + subtitles + low + high + frames

  private static let lists = ["low", "high", "de", "sub", "frames"]

  /// Runs a test with the stream at `/main.m3u8`, with two segments in each media playlist.
  private func withStream(_ body: (TestProxy) async throws -> Void) async throws {
    try await withProxy { test in
      test.serve(Self.main, at: "/main.m3u8")
      for list in Self.lists {
        test.serve(
          "#EXTM3U\n#EXTINF:4,\n\(list)0.ts\n#EXTINF:6,\n\(list)1.ts\n#EXT-X-ENDLIST\n",
          at: "/\(list).m3u8")
        for index in 0..<2 {
          test.origin.serve(
            .synthetic(seed: UInt64(index), length: 1000), at: "/\(list)\(index).ts")
        }
      }
      try await Self.store(test, "main.m3u8")
      try await body(test)
    }
  }

  private static func store(_ test: TestProxy, _ names: String...) async throws {
    for name in names {
      try await test.cache.prefetch(Resource(url: test.origin.url("/\(name)")))
    }
  }

  private static func storeAll(_ test: TestProxy, of lists: String...) async throws {
    for list in lists { try await store(test, "\(list).m3u8", "\(list)0.ts", "\(list)1.ts") }
  }

  @Test func `Offline, a playlist names the variants and renditions of which all is stored`()
    async throws
  {
    try await withStream { test in
      try await Self.storeAll(test, of: "low", "de", "sub")
      // The playlist alone is not the variant.
      try await Self.store(test, "high.m3u8", "high1.ts")
      test.cache.isOffline = true
      let reply = try await test.get("/main.m3u8")
      #expect(reply.text == "#EXTM3U\n" + Self.audio + Self.subtitles + Self.low)
      #expect(reply["Content-Length"] == String(reply.body.count))
      #expect(reply["Cache-Control"] == "no-cache")
      #expect(reply["ETag"] != "\"v1\"")
    }
  }

  @Test func `Groups of which nothing is stored are removed from the variants`() async throws {
    try await withStream { test in
      try await Self.storeAll(test, of: "high")
      try await Self.store(test, "sub.m3u8", "sub0.ts")
      test.cache.isOffline = true
      let reply = try await test.get("/main.m3u8")
      #expect(reply.text == "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=2000\nhigh.m3u8\n")
    }
  }

  /// As Apple's examples: the same pictures with sound in several codecs.
  @Test(arguments: [[], ["de.m3u8", "de0.ts"]])
  func `Of variants with the same pictures, those with the stored sound remain`(
    _ others: [String]
  ) async throws {
    let main =
      "#EXTM3U\n" + Self.audio
      + "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"b\",NAME=\"de\",URI=\"sub.m3u8\"\n"
      + "#EXT-X-STREAM-INF:BANDWIDTH=1000,AUDIO=\"a\"\nlow.m3u8\n"
      + "#EXT-X-STREAM-INF:BANDWIDTH=2000,AUDIO=\"b\"\nlow.m3u8\n"
    try await withStream { test in
      test.serve(main, at: "/main.m3u8", etag: "\"v2\"")
      try await Self.store(test, "main.m3u8")
      try await Self.storeAll(test, of: "low", "sub")
      for name in others { try await Self.store(test, name) }
      test.cache.isOffline = true
      let lines = try await test.get("/main.m3u8").text.split(separator: "\n")
      let variants = lines.filter { $0.hasPrefix("#EXT-X-STREAM-INF") }
      #expect(variants == ["#EXT-X-STREAM-INF:BANDWIDTH=2000,AUDIO=\"b\""])
      #expect(lines.count { $0 == "low.m3u8" } == 1)
      #expect(lines.contains { $0.hasSuffix("URI=\"sub.m3u8\"") })
    }
  }

  @Test func `If no sound is stored, variants with the same pictures remain without any`()
    async throws
  {
    let main =
      "#EXTM3U\n" + Self.audio + "#EXT-X-STREAM-INF:BANDWIDTH=1000,AUDIO=\"a\"\nlow.m3u8\n"
      + "#EXT-X-STREAM-INF:BANDWIDTH=2000,AUDIO=\"b\"\nlow.m3u8\n"
    try await withStream { test in
      test.serve(main, at: "/main.m3u8", etag: "\"v2\"")
      try await Self.store(test, "main.m3u8")
      try await Self.storeAll(test, of: "low")
      test.cache.isOffline = true
      let variants = [1000, 2000].map { "#EXT-X-STREAM-INF:BANDWIDTH=\($0)\nlow.m3u8\n" }
      #expect(try await test.get("/main.m3u8").text == "#EXTM3U\n" + variants.joined())
    }
  }

  @Test func `If no variant is whole, the one with the longest stored time remains`() async throws {
    try await withStream { test in
      try await Self.store(test, "low.m3u8", "low0.ts", "high.m3u8", "high1.ts")
      try await Self.store(test, "de.m3u8", "de0.ts")
      test.cache.isOffline = true
      let reply = try await test.get("/main.m3u8")
      #expect(
        reply.text
          == "#EXTM3U\n" + Self.audio + Self.high.replacing(",SUBTITLES=\"s\"", with: ""))
    }
  }

  @Test func `If nothing is stored, the playlist stays as it is`() async throws {
    try await withStream { test in
      try await Self.store(test, "low.m3u8")
      test.cache.isOffline = true
      #expect(try await test.get("/main.m3u8").text == Self.main)
    }
  }

  @Test func `While the origin answers, the playlist names everything`() async throws {
    try await withStream { test in
      try await Self.storeAll(test, of: "low", "de")
      #expect(try await test.get("/main.m3u8").text == Self.main)
    }
  }

  @Test func `An origin that cannot be reached is as good as none`() async throws {
    try await withStream { test in
      try await Self.storeAll(test, of: "low", "de", "sub")
      await test.origin.stopListening()
      let reply = try await test.get("/main.m3u8")
      #expect(reply.text == "#EXTM3U\n" + Self.audio + Self.subtitles + Self.low)
      let head = try await test.get("/main.m3u8", method: "HEAD")
      #expect(head["ETag"] == reply["ETag"])
      try await test.origin.resumeListening()
      #expect(try await test.get("/main.m3u8").text == Self.main)
    }
  }

  @Test func `Keys, initializations and byte ranges count`() async throws {
    try await withStream { test in
      test.serve(
        """
        #EXTM3U
        #EXT-X-KEY:METHOD=AES-128,URI="key"
        #EXT-X-BYTERANGE:100@0
        #EXTINF:4,
        low0.ts
        #EXT-X-ENDLIST

        """, at: "/low.m3u8")
      test.origin.serve(.synthetic(seed: 9, length: 16), at: "/key")
      try await Self.store(test, "low.m3u8")
      try await test.cache.prefetch(
        Resource(url: test.origin.url("/low0.ts")), range: 0..<100)
      try await Self.storeAll(test, of: "high")
      test.cache.isOffline = true
      let without = try await test.get("/main.m3u8")
      #expect(!without.text.contains("low.m3u8") && without.text.contains("high.m3u8"))
      test.cache.isOffline = false
      try await Self.store(test, "key")
      test.cache.isOffline = true
      let with = try await test.get("/main.m3u8")
      #expect(with.text.contains("low.m3u8") && with.text.contains("high.m3u8"))
    }
  }

  @Test func `A long stream is found stored`() async throws {
    try await withStream { test in
      let segments = (0..<500).map { "#EXTINF:4,\nlow0.ts?\($0)\n" }.joined()
      test.serve("#EXTM3U\n\(segments)#EXT-X-ENDLIST\n", at: "/low.m3u8")
      try await Self.store(test, "low.m3u8")
      try await withThrowingTaskGroup { group in
        for index in 0..<500 { group.addTask { try await Self.store(test, "low0.ts?\(index)") } }
        try await group.waitForAll()
      }
      test.cache.isOffline = true
      let reply = try await test.get("/main.m3u8")
      #expect(reply.text == "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000\nlow.m3u8\n")
    }
  }

  /// As many as a hostile or careless origin may list.
  @Test func `Of 10,000 variants, a client is given the one that is stored`() async throws {
    let variants = (0..<10_000).map {
      "#EXT-X-STREAM-INF:BANDWIDTH=\(1000 + $0)\nv\($0).m3u8\n"
    }
    try await withProxy { test in
      let main = "#EXTM3U\n" + variants.joined()
      test.serve(main, at: "/main.m3u8")
      test.serve("#EXTM3U\n#EXTINF:4,\ns0.ts\n#EXT-X-ENDLIST\n", at: "/v7777.m3u8")
      test.origin.serve(.synthetic(seed: 1, length: 1000), at: "/s0.ts")
      try await Self.store(test, "main.m3u8", "v7777.m3u8", "s0.ts")
      #expect(try await test.get("/main.m3u8").text == main)
      test.cache.isOffline = true
      #expect(try await test.get("/main.m3u8").text == "#EXTM3U\n" + variants[7777])
      let part = try await test.get("/s0.ts")
      #expect(part.status == 200 && part.body.count == 1000)
    }
  }
}
