// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy
@testable import RefrainStreams

/// A rule that ignores a query parameter holds for the parts of streams too.
@Suite(.timeLimit(.minutes(1))) struct KeyRuleStreamTests {
  private static let count = 3

  private static func ignorePass(_ configuration: inout MediaCache.Configuration) {
    configuration.cacheKey = CacheKeyRule.forStreams(ignoring: ["pass"]).key(for:)
  }

  private static func serveSegments(_ test: TestProxy) {
    for number in 0..<count {
      test.origin.serve(
        .synthetic(seed: UInt64(number), length: 1000), at: "/s\(number).ts")
    }
  }

  /// Serves the playlists with references that have a pass.
  ///
  /// - Parameter hasSession: whether the stream needs a session.
  private static func serveLists(pass: Int, hasSession: Bool, _ test: TestProxy) {
    // Else a complete playlist of a moment ago, with another pass, may serve the next play too.
    let always = Field("Cache-Control", "no-cache")
    let cookies = hasSession ? [Field("Set-Cookie", "a=b; Path=/")] : []
    test.serve(
      "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlow.m3u8?pass=\(pass)\n", at: "/main.m3u8",
      etag: "\"main-\(pass)\"", headers: cookies + [always])
    // One of them from the root, which is rewritten.
    let segments = (0..<count).map { number in
      "#EXTINF:2,\n\(number == 1 ? "/" : "")s\(number).ts?pass=\(pass)\n"
    }
    test.serve(
      "#EXTM3U\n#EXT-X-TARGETDURATION:2\n\(segments.joined())#EXT-X-ENDLIST\n", at: "/low.m3u8",
      etag: "\"low-\(pass)\"", headers: [always])
  }

  /// Requests the playlists and all segments as a player does.
  private static func play(pass: Int, hasSession: Bool, _ test: TestProxy) async throws {
    let (main, start) = try await test.follow(try test.target("/main.m3u8"))
    let low = try test.reference(main, to: "low.m3u8?pass=\(pass)", at: start)
    let (list, place) = try await test.follow(low)
    for number in 0..<count {
      let part = try test.reference(list, to: "s\(number).ts?pass=\(pass)", at: place)
      #expect(part.contains("/~") == hasSession, "\(part)")
      let (segment, _) = try await test.follow(part)
      #expect(segment.status == 200, "\(part)")
      #expect(segment.body == SyntheticBytes(seed: UInt64(number)).bytes(in: 0..<1000))
    }
  }

  /// Returns the targets of the requests for each segment.
  private static func targets(_ test: TestProxy) -> [[String]] {
    (0..<count).map { test.origin.log("/s\($0).ts").requests.map(\.request.target) }
  }

  @Test(arguments: [false, true])
  func `No segment is requested twice, although its pass changes`(
    _ hasSession: Bool
  ) async throws {
    try await withProxy(cache: Self.ignorePass) { test in
      Self.serveSegments(test)
      for pass in 1...3 {
        Self.serveLists(pass: pass, hasSession: hasSession, test)
        try await Self.play(pass: pass, hasSession: hasSession, test)
      }
      // Outside of the session, under any pass that a playlist has named.
      for number in 0..<Self.count {
        let reply = try await test.get("/s\(number).ts?pass=\(number + 1)")
        #expect(reply.status == 200 && reply.body.count == 1000)
      }
      #expect(Self.targets(test) == (0..<Self.count).map { ["/s\($0).ts?pass=1"] })
      let items = try await test.cache.storedItems()
      guard items.count == 1, case .group(let stream)? = items.first else {
        Issue.record("\(items)")
        return
      }
      #expect(stream.key == test.key("/main.m3u8"))
      #expect(stream.parts == 1 + Self.count)
    }
  }

  @Test func `Without the rule, another pass is another segment`() async throws {
    try await withProxy { test in
      Self.serveSegments(test)
      for pass in 1...2 {
        Self.serveLists(pass: pass, hasSession: false, test)
        try await Self.play(pass: pass, hasSession: false, test)
      }
      #expect(
        Self.targets(test)
          == (0..<Self.count).map { ["/s\($0).ts?pass=1", "/s\($0).ts?pass=2"] })
    }
  }
}
