// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy

/// What a manifest behind a redirect costs the origin: clients are redirected to its place.
@Suite(.timeLimit(.minutes(1))) struct RedirectedManifestTests {
  private static let list = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\ns0.ts\n#EXT-X-ENDLIST\n"
  private static let fresh = Field("Cache-Control", "max-age=600")

  private func lead(_ path: String, to target: String, _ test: TestProxy, _ faults: Fault...) {
    test.serve("", at: path, type: "text/plain")
    test.origin.script(path, FaultScript([.init(.all, [.redirect(302, to: target)] + faults)]))
  }

  @Test(arguments: ["audio/mpegurl", "application/octet-stream"], [true, false])
  func `A redirected manifest is stored at both URLs, for one request each`(
    _ type: String, hasRanges: Bool
  ) async throws {
    try await withProxy { test in
      let name = type == "audio/mpegurl" ? "/far/list.m3u8" : "/far/list"
      let start = type == "audio/mpegurl" ? "/list.m3u8" : "/play"
      var resource = OriginResource(
        .bytes(Array(Self.list.utf8)), contentType: type, etag: "\"1\"", headers: [Self.fresh])
      resource.supportsRanges = hasRanges
      test.origin.serve(resource, at: name)
      lead(start, to: test.origin.url(name).absoluteString, test)
      let (reply, target) = try await test.follow(try test.target(start))
      #expect(reply.text == Self.list)
      #expect(try test.target(name) == target)
      #expect(test.origin.log(start).requests.count == 1)
      #expect(test.origin.log(name).requests.count == 2)
      test.cache.isOffline = true
      #expect(try await test.follow(try test.target(start)).0.text == Self.list)
    }
  }

  @Test func `A manifest that redirects lead to with a cookie is requested at its own URL`()
    async throws
  {
    let other = try await OriginServer.start()
    try await withProxy { test in
      other.serve(
        OriginResource(
          .bytes(Array(Self.list.utf8)), contentType: "audio/mpegurl", headers: [Self.fresh]),
        at: "/far.m3u8")
      let far = other.url("/far.m3u8").absoluteString
      lead("/list.m3u8", to: far, test, .header("Set-Cookie", "id=1; Path=/"))
      let (reply, target) = try await test.follow(
        try test.target("/list.m3u8"), ["Authorization: Bearer x"])
      #expect(reply.text == Self.list && target.contains("/~"))
      #expect(other.log("/far.m3u8").requests.count == 2)
    }
    await other.stop()
  }

  @Test func `A redirected manifest given to one account reaches no other one`() async throws {
    try await withProxy { test in
      test.serve(Self.list, at: "/far.m3u8", headers: [Self.fresh])
      lead("/list.m3u8", to: "/far.m3u8", test)
      let first = try await test.get("/list.m3u8", ["Authorization: a"])
      #expect(first.status == 302)
      let (reply, _) = try await test.follow(
        try test.target("/far.m3u8"), ["Authorization: b"])
      #expect(reply.text == Self.list)
      let accounts = test.origin.log("/far.m3u8").requests.map {
        $0.request.headers.first("Authorization")
      }
      #expect(accounts == ["a", "b"])
    }
  }
}
