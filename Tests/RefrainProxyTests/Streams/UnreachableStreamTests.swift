// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy

/// Streams whose responses must be revalidated, while their origin cannot be reached.
@Suite(.timeLimit(.minutes(1))) struct UnreachableStreamTests {
  private func serve(_ test: TestProxy, _ control: String) {
    let fields = [Field("Cache-Control", control)]
    test.serve(
      "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlow.m3u8\n", at: "/main.m3u8", headers: fields)
    test.serve(
      "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\ns0.ts\n#EXT-X-ENDLIST\n", at: "/low.m3u8",
      headers: fields)
    var segment = OriginResource.synthetic(seed: 1, length: 1000)
    segment.headers = fields
    test.origin.serve(segment, at: "/s0.ts")
  }

  @Test(arguments: ["no-cache", "max-age=0, must-revalidate", "must-revalidate"])
  func `A stored stream plays`(_ control: String) async throws {
    try await withProxy { test in
      serve(test, control)
      for isFirst in [true, false] {
        if !isFirst { await test.origin.stopListening() }
        for path in ["/main.m3u8", "/low.m3u8", "/s0.ts"] {
          let reply = try await test.get(path)
          #expect(reply.status == 200, "\(path), first: \(isFirst)")
          if path == "/s0.ts" {
            #expect(reply.body == SyntheticBytes(seed: 1).bytes(in: 0..<1000))
          }
          if !isFirst { #expect(reply["Cache-Status"]?.contains("; ttl=-") == true, "\(path)") }
        }
      }
      // The playlists have shown that it is a segment.
      #expect(test.origin.log("/s0.ts").requests.count == 1)
    }
  }

  @Test func `A live playlist that is too old is not served`() async throws {
    let time = LiveTime()
    try await withProxy(cache: { $0.clock = time.now }) { test in
      test.serve(
        "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\ns0.ts\n", at: "/live.m3u8",
        headers: [Field("Cache-Control", "no-cache")])
      let first = try await test.get("/live.m3u8")
      #expect(first.status == 200)
      await test.origin.stopListening()
      time.advance(to: 1)
      let early = try await test.get("/live.m3u8")
      #expect(early.status == 200)
      time.advance(to: 60)
      let late = try await test.get("/live.m3u8")
      #expect([502, 504].contains(late.status))
    }
  }

  @Test func `In a shared cache, what must be revalidated is not served`() async throws {
    try await Caching.withEither(isShared: true) { test async throws in
      serve(test, "no-cache")
      for path in ["/main.m3u8", "/low.m3u8", "/s0.ts"] {
        let reply = try await test.get(path)
        #expect(reply.status == 200)
      }
      await test.origin.stopListening()
      for path in ["/main.m3u8", "/low.m3u8", "/s0.ts"] {
        let reply = try await test.get(path)
        #expect([502, 504].contains(reply.status), "\(path)")
      }
    }
  }
}
