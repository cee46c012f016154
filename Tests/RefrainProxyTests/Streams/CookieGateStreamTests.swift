// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy

/// Streams and media of an origin that redirects requests without its cookie to where it is set.
@Suite(.timeLimit(.minutes(1))) struct CookieGateStreamTests {
  private let list = "#EXTM3U\n#EXTINF:2,\ns0.ts\n#EXTINF:2,\ns1.ts\n#EXT-X-ENDLIST\n"

  private func close(_ paths: [String], of origin: OriginServer, behind gate: String = "/gate") {
    for path in paths {
      let target = gate == path ? path : "\(gate)?\(path)"
      let cookie: Fault? = gate == path ? .header("Set-Cookie", "seen=1; Path=/") : nil
      origin.script(
        path,
        .on(
          .where { $0.headers.first("Cookie") == nil },
          [.redirect(302, to: target), cookie].compactMap(\.self)))
      guard gate != path else { continue }
      origin.script(
        target, .on(.all, .redirect(302, to: path), .header("Set-Cookie", "seen=1; Path=/")))
    }
  }

  private func cookies(_ test: TestProxy, _ path: String) -> [String?] {
    test.origin.log(path).requests.map { $0.request.headers.first("Cookie") }
  }

  @Test(arguments: [true, false])
  func `The segments of a playlist are requested with the cookie of its redirects`(
    _ leadsThroughGate: Bool
  ) async throws {
    try await withProxy { test in
      test.serve(list, at: "/v.m3u8")
      for path in ["/s0.ts", "/s1.ts"] {
        test.origin.serve(.synthetic(seed: 1, length: 1000), at: path)
      }
      if leadsThroughGate {
        close(["/v.m3u8", "/s0.ts", "/s1.ts"], of: test.origin)
      } else {
        for path in ["/v.m3u8", "/s0.ts", "/s1.ts"] {
          close([path], of: test.origin, behind: path)
        }
      }
      let (reply, target) = try await test.follow(try test.target("/v.m3u8"))
      for name in ["s0.ts", "s1.ts"] {
        let segment = try await test.follow(try test.reference(reply, to: name, at: target)).0
        #expect(segment.body.count == 1000)
        #expect(cookies(test, "/\(name)") == ["seen=1"])
      }
      #expect(cookies(test, "/v.m3u8").first == .some(nil))
      #expect(cookies(test, "/v.m3u8").dropFirst().allSatisfy { $0 == "seen=1" })
    }
  }

  /// Clients of a proxy for many origins receive no cookie.
  @Test func `A client of relayed responses passes the gate as well`() async throws {
    try await withProxy { test in
      test.origin.serve(.synthetic(seed: 1, length: 1000), at: "/a.mp3")
      close(["/a.mp3"], of: test.origin, behind: "/a.mp3")
      let (reply, _) = try await test.follow(
        try test.target("/a.mp3"), ["Cache-Control: no-store"])
      #expect(reply.status == 200 && reply.body.count == 1000)
      #expect(reply["Set-Cookie"] == nil)
      #expect(cookies(test, "/a.mp3") == [nil, "seen=1"])
    }
  }

  @Test(arguments: ["GET", "HEAD"])
  func `A range behind the gate costs one chain`(_ method: String) async throws {
    try await withProxy { test in
      test.origin.serve(.synthetic(seed: 1, length: 3_000_000), at: "/a.mp3")
      close(["/a.mp3"], of: test.origin, behind: "/a.mp3")
      let reply = try await test.get(
        "/a.mp3", ["Range: bytes=2000000-2000999"], method: method)
      #expect(reply.status == (method == "GET" ? 206 : 200))
      #expect(cookies(test, "/a.mp3") == [nil, "seen=1"])
    }
  }
}
