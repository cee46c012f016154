// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy

/// Ongoing HLS streams with several clients.
@Suite(.timeLimit(.minutes(1))) struct LiveManifestTests {
  /// Requests a path with eight clients at once, which the origin answers once all may have joined.
  private func getAtOnce(_ path: String, _ test: TestProxy) async throws -> [Reply] {
    test.origin.script(path, .on(.first(1), .delay(nil)))
    return try await withThrowingTaskGroup(of: Reply.self) { group in
      for _ in 0..<8 { group.addTask { try await test.get(path) } }
      _ = try await test.origin.wait(for: path) { $0.stalled == 1 }
      test.origin.release(path)
      return try await group.reduce(into: []) { $0.append($1) }
    }
  }

  private func list(from first: Int, parts: Int = 0) -> String {
    let segments = (first..<first + 3).map { "#EXTINF:6,\n/s\($0).ts\n" }.joined()
    let rest = (0..<parts).map { "#EXT-X-PART:DURATION=1,URI=\"/p\($0).m4s\"\n" }.joined()
    return "#EXTM3U\n#EXT-X-TARGETDURATION:60\n#EXT-X-MEDIA-SEQUENCE:\(first)\n\(segments)\(rest)"
  }

  @Test func `Eight clients cost the origin as many requests as one`() async throws {
    try await withProxy { test in
      test.serve(list(from: 4), at: "/live.m3u8")
      let replies = try await getAtOnce("/live.m3u8", test)
      #expect(Set(replies.map(\.text)).count == 1)
      #expect(replies[0].text.contains("/\(test.token)/http/\(test.originHost)/s4.ts"))
      #expect(test.origin.log("/live.m3u8").requests.count == 1)
      test.origin.serve(.synthetic(seed: 1, length: 200_000), at: "/s4.ts")
      let segments = try await getAtOnce("/s4.ts", test)
      #expect(segments.allSatisfy { $0.body.count == 200_000 })
      let log = test.origin.log("/s4.ts")
      #expect(log.bytesSentTwice == 0 && log.distinctBytesSent == 200_000)
    }
  }

  @Test func `A blocking reload is one request for all clients, and its own resource`()
    async throws
  {
    try await withProxy { test in
      test.serve(list(from: 4), at: "/live.m3u8")
      test.serve(list(from: 5, parts: 2), at: "/live.m3u8?_HLS_msn=8&_HLS_part=1")
      let old = try await test.get("/live.m3u8")
      let replies = try await getAtOnce("/live.m3u8?_HLS_msn=8&_HLS_part=1", test)
      #expect(Set(replies.map(\.text)).count == 1 && replies[0].text != old.text)
      #expect(replies[0].text.contains("http/\(test.originHost)/p1.m4s"))
      #expect(test.origin.log("/live.m3u8?_HLS_msn=8&_HLS_part=1").requests.count == 1)
    }
  }

  @Test func `A part that the origin has yet to write is requested once, in one piece`()
    async throws
  {
    try await withProxy { test in
      test.origin.serve(.synthetic(seed: 2, length: 300_000), at: "/p9.m4s")
      let replies = try await getAtOnce("/p9.m4s", test)
      #expect(replies.allSatisfy { $0.status == 200 && $0.body.count == 300_000 })
      #expect(test.origin.log("/p9.m4s").requests.count == 1)
    }
  }
}
