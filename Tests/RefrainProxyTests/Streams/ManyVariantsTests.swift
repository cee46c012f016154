// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy

/// A multivariant playlist with as many variants as a hostile or careless origin may list.
@Suite(.timeLimit(.minutes(1))) struct ManyVariantsTests {
  private static let variants = (0..<10_000).map {
    "#EXT-X-STREAM-INF:BANDWIDTH=\(1000 + $0)\nv\($0).m3u8\n"
  }
  private static let stored = 7777

  @Test func `Of 10,000 variants, a client is given the one that is stored`() async throws {
    try await withProxy { test in
      let main = "#EXTM3U\n" + Self.variants.joined()
      test.serve(main, at: "/main.m3u8")
      test.serve(
        "#EXTM3U\n#EXTINF:4,\ns0.ts\n#EXT-X-ENDLIST\n", at: "/v\(Self.stored).m3u8")
      test.origin.serve(.synthetic(seed: 1, length: 1000), at: "/s0.ts")
      for path in ["/main.m3u8", "/v\(Self.stored).m3u8", "/s0.ts"] {
        try await test.cache.prefetch(Resource(url: test.origin.url(path)))
      }
      let all = try await test.get("/main.m3u8")
      #expect(all.text == main)
      test.cache.isOffline = true
      let reply = try await test.get("/main.m3u8")
      #expect(reply.text == "#EXTM3U\n" + Self.variants[Self.stored])
      let part = try await test.get("/s0.ts")
      #expect(part.status == 200 && part.body.count == 1000)
    }
  }
}
