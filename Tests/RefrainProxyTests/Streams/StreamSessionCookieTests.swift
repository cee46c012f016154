// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy
@testable import RefrainStreams

/// Cookies of streams whose first request has credentials and no name of a manifest.
@Suite(.timeLimit(.minutes(1))) struct StreamSessionCookieTests {
  private let list = "#EXTM3U\n#EXTINF:2,\ns0.ts\n#EXTINF:2,\ns1.ts\n#EXT-X-ENDLIST\n"

  private func serveSegments(_ origin: OriginServer) {
    for path in ["/s0.ts", "/s1.ts"] {
      origin.serve(.synthetic(seed: 1, length: 1000), at: path)
    }
  }

  /// Returns the values of a field in the origin's requests for a path.
  private func sent(_ name: String, for path: String, to origin: OriginServer) -> [String?] {
    origin.log(path).requests.map { $0.request.headers.first(name) }
  }

  /// The second type leaves its content to show the manifest.
  @Test(arguments: ["application/vnd.apple.mpegurl", "application/octet-stream"])
  func `Cookies of a manifest without a manifest's name reach its segments`(
    _ type: String
  ) async throws {
    try await withProxy { test in
      let cookie = Field("Set-Cookie", "CloudFront-Policy=abc; Path=/")
      test.serve(list, at: "/play", type: type, headers: [cookie])
      serveSegments(test.origin)
      for name in ["s0.ts", "s1.ts"] {
        let (reply, target) = try await test.follow(
          try test.target("/play?id=1"), ["Authorization: Bearer x"])
        let segment = try await test.follow(try test.reference(reply, to: name, at: target)).0
        #expect(segment.status == 200)
        #expect(sent("Cookie", for: "/\(name)", to: test.origin) == ["CloudFront-Policy=abc"])
        #expect(sent("Authorization", for: "/\(name)", to: test.origin) == ["Bearer x"])
      }
    }
  }

  /// As a player does, which looks whether it is a stream.
  @Test(arguments: ["", "secret"])
  func `Cookies of a manifest that the cache was asked for before come with its proxy URL`(
    _ account: String
  ) async throws {
    try await withProxy { test in
      test.serve(list, at: "/list.m3u8", headers: [Field("Set-Cookie", "id=1; Path=/")])
      serveSegments(test.origin)
      let stream = Resource(
        url: test.origin.url("/list.m3u8"),
        headers: account.isEmpty ? [:] : ["Authorization": account])
      let reader = try await test.cache.open(test.cache.possibleStream(stream))
      #expect(try await reader.bytes(in: 0..<1000) == Data(list.utf8))
      reader.cancel()
      // The proxy's own request, if it makes one, has no part in this.
      test.serve(list, at: "/list.m3u8")
      let url = try test.proxy.url(for: stream)
      let (reply, target) = try await test.follow(url.path(percentEncoded: true))
      let segment = try await test.follow(try test.reference(reply, to: "s0.ts", at: target)).0
      #expect(segment.body.count == 1000)
      #expect(sent("Cookie", for: "/s0.ts", to: test.origin) == ["id=1"])
      // They are for these credentials alone.
      let other = Resource(url: stream.url, headers: ["Authorization": "other"])
      #expect(test.cache.cookies(of: other).all(at: Date()).isEmpty)
    }
  }

  @Test func `Cookies of redirects to a manifest reach the hosts that have set them`()
    async throws
  {
    let other = try await OriginServer.start()
    try await withProxy { test in
      other.serve(
        OriginResource(
          .bytes(Array(list.utf8)), contentType: "audio/mpegurl",
          headers: [Field("Set-Cookie", "far=1; Path=/")]), at: "/far.m3u8")
      serveSegments(other)
      test.serve("", at: "/play", type: "text/plain")
      test.origin.script(
        "/play",
        .on(
          .all, .redirect(302, to: other.url("/far.m3u8").absoluteString),
          .header("Set-Cookie", "near=1; Path=/")))
      let (reply, target) = try await test.follow(
        try test.target("/play"), ["Authorization: Bearer secret"])
      let segment = try await test.follow(try test.reference(reply, to: "s0.ts", at: target)).0
      #expect(segment.body.count == 1000)
      // Hosts differ in their ports alone here, which cookies do not distinguish (RFC 6265 §8.5).
      let cookies = sent("Cookie", for: "/s0.ts", to: other).compactMap { $0 }
      #expect(cookies.count == 1 && cookies.allSatisfy { $0.contains("far=1") })
      #expect(sent("Authorization", for: "/s0.ts", to: other) == [nil])
    }
    await other.stop()
  }

  @Test func `Cookies given to one account reach no request of another one`() async throws {
    try await withProxy { test in
      // Each account asks for itself, also if its first request has joined the other's.
      test.serve(list, at: "/play", headers: [Field("Cache-Control", "no-cache")])
      serveSegments(test.origin)
      var script = FaultScript()
      for account in ["a", "b"] {
        script = script.on(
          .where { $0.headers.first("Authorization") == account },
          .header("Set-Cookie", "id=\(account); Path=/"))
      }
      test.origin.script("/play", script)
      let start = try test.target("/play")
      // Both at once, then each again, and somebody without credentials.
      async let first = test.follow(start, ["Authorization: a"])
      async let second = test.follow(start, ["Authorization: b"])
      for (account, begun) in [("a", try await first), ("b", try await second)] {
        let again = try await test.follow(start, ["Authorization: \(account)"])
        #expect(again.target == begun.target && begun.target.contains("/~"))
        for name in ["s0.ts", "s1.ts"] {
          let reply = try await test.follow(
            try test.reference(begun.0, to: name, at: begun.target))
          #expect(reply.0.status == 200)
        }
      }
      let nobody = try await test.follow(start)
      #expect(nobody.target == start)
      for path in ["/s0.ts", "/s1.ts"] {
        for request in test.origin.log(path).requests.map(\.request) {
          let account = try #require(request.headers.first("Authorization"))
          #expect(request.headers.first("Cookie") == "id=\(account)", "\(path)")
        }
        #expect(!test.origin.log(path).requests.isEmpty)
      }
    }
  }

  @Test func `A file whose response sets a cookie begins no session`() async throws {
    try await withProxy { test in
      var file = OriginResource.synthetic(seed: 1, length: 1000)
      file.headers = [Field("Set-Cookie", "a=b; Path=/")]
      test.origin.serve(file, at: "/film")
      for _ in 0..<2 {
        let reply = try await test.get("/film", ["Authorization: Bearer x"])
        #expect(reply.body.count == 1000)
      }
      let (sessions, url) = (test.proxy.service.sessions, test.origin.url("/film"))
      #expect(sessions.begun(with: ["Authorization": "Bearer x"], for: url) == nil)
    }
  }

  @Test func `Observers of equal requests are equal, and keep their cookies apart`() async throws {
    try await withProxy { test in
      let (cache, url) = (test.cache, test.origin.url("/play"))
      let one = Resource(url: url, headers: ["Authorization": "1", "Accept": "a/b"])
      let same = Resource(url: url, headers: ["Authorization": "1"])
      let other = Resource(url: url, headers: ["Authorization": "2"])
      #expect(cache.cookieObserver(of: one) == cache.cookieObserver(of: same))
      #expect(cache.cookieObserver(of: one) != cache.cookieObserver(of: other))
      cache.cookieObserver(of: one).received(["Set-Cookie": "a=1"], from: url)
      for resource in [other, Resource(url: url)] {
        #expect(cache.cookies(of: resource).all(at: Date()).isEmpty)
      }
      #expect(cache.cookies(of: same).all(at: Date()).map(\.value) == ["1"])
    }
  }
}
