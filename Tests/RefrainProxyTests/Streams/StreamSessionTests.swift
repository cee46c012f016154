// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy
@testable import RefrainStreams

/// Headers, cookies and variables that the parts of a stream share.
@Suite(.timeLimit(.minutes(1))) struct StreamSessionTests {
  private let list = "#EXTM3U\n#EXTINF:2,\ns0.ts\n#EXTINF:2,\n/s1.ts\n"

  @Test func `Segments are requested with the credentials of their playlist`() async throws {
    try await withProxy { test in
      var resource = OriginResource(.bytes(Array(list.utf8)), contentType: "audio/mpegurl")
      resource.requiredHeader = Field("Authorization", "Bearer x")
      test.origin.serve(resource, at: "/a/list.m3u8")
      var segment = OriginResource.synthetic(seed: 1, length: 1000)
      segment.requiredHeader = Field("Authorization", "Bearer x")
      for path in ["/a/s0.ts", "/s1.ts"] { test.origin.serve(segment, at: path) }
      let start = try test.target("/a/list.m3u8")
      let (reply, target) = try await test.follow(start, ["Authorization: Bearer x"])
      #expect(reply.status == 200 && target != start)
      for name in ["s0.ts", "s1.ts"] {
        let part = try test.reference(reply, to: name, at: target)
        let segment = try await test.follow(part).0
        #expect(segment.body.count == 1000, "\(name)")
      }
      // Without the session, the credentials are not sent.
      test.origin.serve(segment, at: "/s2.ts")
      #expect(try await test.get("/s2.ts").status == 401)
    }
  }

  @Test func `A resource's headers reach the parts of its stream on the same host alone`()
    async throws
  {
    let other = try await OriginServer.start()
    try await withProxy { test in
      let list = list + "#EXTINF:2,\n\(other.url("/s2.ts").absoluteString)\n"
      test.serve(list, at: "/list.m3u8")
      for path in ["/s0.ts", "/s1.ts"] {
        test.origin.serve(.synthetic(seed: 1, length: 1000), at: path)
      }
      other.serve(.synthetic(seed: 1, length: 1000), at: "/s2.ts")
      let resource = Resource(url: test.origin.url("/list.m3u8"), headers: ["X-Key": "secret"])
      let url = try test.proxy.url(for: resource)
      #expect(try test.proxy.url(for: resource) == url)
      let (reply, target) = try await test.follow(url.path())
      for name in ["s0.ts", "s1.ts", "s2.ts"] {
        let part = try test.reference(reply, to: name, at: target)
        let segment = try await test.follow(part).0
        #expect(segment.status == 200)
      }
      for path in ["/list.m3u8", "/s0.ts", "/s1.ts"] {
        let sent = test.origin.log(path).requests.map { $0.request.headers.first("X-Key") }
        #expect(sent == ["secret"], "\(path)")
      }
      let requests = other.log("/s2.ts").requests
      #expect(requests.map { $0.request.headers.first("X-Key") } == [nil])
    }
    await other.stop()
  }

  @Test func `The user and the password of a resource's URL reach the parts of its stream`()
    async throws
  {
    try await withProxy { test in
      let user = Field("Authorization", "Basic dTpwIHc=")
      var resource = OriginResource(.bytes(Array(list.utf8)), contentType: "audio/mpegurl")
      resource.requiredHeader = user
      test.origin.serve(resource, at: "/list.m3u8")
      var segment = OriginResource.synthetic(seed: 1, length: 1000)
      segment.requiredHeader = user
      for path in ["/s0.ts", "/s1.ts"] { test.origin.serve(segment, at: path) }
      let plain = test.origin.url("/list.m3u8").absoluteString
      let named = try #require(URL(string: plain.replacing("://", with: "://u:p%20w@")))
      let url = try test.proxy.url(for: Resource(url: named))
      #expect(url.user() == nil && !url.path().contains("@"))
      let (reply, target) = try await test.follow(url.path())
      #expect(reply.status == 200)
      for name in ["s0.ts", "s1.ts"] {
        let part = try test.reference(reply, to: name, at: target)
        let segment = try await test.follow(part).0
        #expect(segment.body.count == 1000, "\(name)")
      }
    }
  }

  @Test func `The proxy's own headers do not reach other hosts that a playlist names`()
    async throws
  {
    let other = try await OriginServer.start()
    try await withProxy(proxy: { settings, _ in
      settings.headers = ["Authorization": "Bearer secret"]
    }) { test in
      let list = list + "#EXTINF:2,\n\(other.url("/s2.ts").absoluteString)\n"
      test.serve(list, at: "/list.m3u8")
      for path in ["/s0.ts", "/s1.ts"] {
        test.origin.serve(.synthetic(seed: 1, length: 1000), at: path)
      }
      for path in ["/s2.ts", "/s3.ts"] {
        other.serve(.synthetic(seed: 1, length: 1000), at: path)
      }
      // Relayed, not stored.
      other.serve(
        OriginResource(.bytes([1, 2, 3]), headers: [Field("Cache-Control", "no-store")]),
        at: "/key")
      let (reply, target) = try await test.follow(try test.target("/list.m3u8"))
      for name in ["s0.ts", "s1.ts", "s2.ts"] {
        let part = try test.reference(reply, to: name, at: target)
        #expect(try await test.follow(part).0.status == 200)
        if name == "s2.ts" {
          let key = String(part.dropLast(name.count)) + "key"
          #expect(try await test.follow(key).0.status == 200)
        }
      }
      func sent(_ origin: OriginServer, _ path: String) -> Set<String?> {
        Set(origin.log(path).requests.map { $0.request.headers.first("Authorization") })
      }
      for path in ["/list.m3u8", "/s0.ts", "/s1.ts"] {
        #expect(sent(test.origin, path) == ["Bearer secret"], "\(path)")
      }
      for path in ["/s2.ts", "/key"] { #expect(sent(other, path) == [nil], "\(path)") }
      // A host that the client chose receives them.
      let chosen = try test.proxy.url(for: other.url("/s3.ts")).path()
      #expect(try await test.follow(chosen).0.status == 200)
      #expect(sent(other, "/s3.ts") == ["Bearer secret"])
    }
    await other.stop()
  }

  @Test func `Cookies of the playlist's response are sent with the segments' requests`()
    async throws
  {
    try await withProxy { test in
      test.serve(
        list, at: "/list.m3u8",
        headers: [
          Field("Set-Cookie", "CloudFront-Policy=abc; Path=/; HttpOnly"),
          Field("Set-Cookie", "other=1; Path=/elsewhere"),
        ])
      for path in ["/s0.ts", "/s1.ts"] {
        test.origin.serve(.synthetic(seed: 1, length: 1000), at: path)
      }
      let (reply, target) = try await test.follow(try test.target("/list.m3u8"))
      for name in ["s0.ts", "s1.ts"] {
        let part = try test.reference(reply, to: name, at: target)
        let segment = try await test.follow(part).0
        #expect(segment.status == 200)
        let sent = test.origin.log("/" + name).requests.map { $0.request.headers.first("Cookie") }
        #expect(sent == ["CloudFront-Policy=abc"])
      }
      #expect(reply["Set-Cookie"] == nil)
    }
  }

  @Test func `A stream that begins again continues its session`() async throws {
    try await withProxy { test in
      test.serve(
        list, at: "/list.m3u8",
        headers: [Field("Set-Cookie", "a=b; Path=/"), Field("Cache-Control", "max-age=600")])
      let (_, first) = try await test.follow(try test.target("/list.m3u8"))
      let (_, second) = try await test.follow(try test.target("/list.m3u8"))
      #expect(first.contains("/~") && first == second)
      #expect(test.origin.log("/list.m3u8").requests.count == 1)
    }
  }

  @Test func `Credentials do not follow a redirect to another host`() async throws {
    let other = try await OriginServer.start()
    try await withProxy { test in
      other.serve(
        OriginResource(.bytes(Array(list.utf8)), contentType: "audio/mpegurl"), at: "/far.m3u8")
      other.serve(.synthetic(seed: 1, length: 1000), at: "/s0.ts")
      test.serve("", at: "/list.m3u8")
      let far = other.url("/far.m3u8").absoluteString
      test.origin.script("/list.m3u8", .on(.all, .redirect(302, to: far)))
      let credentials = ["Authorization: Bearer secret"]
      let start = try test.target("/list.m3u8")
      let (reply, target) = try await test.follow(start, credentials)
      let part = try test.reference(reply, to: "s0.ts", at: target)
      let segment = try await test.follow(part, credentials).0
      #expect(segment.body.count == 1000)
      let sent = test.origin.log("/list.m3u8").requests.map {
        $0.request.headers.first("Authorization")
      }
      #expect(sent.contains("Bearer secret"))
      for path in ["/far.m3u8", "/s0.ts"] {
        let requests = other.log(path).requests
        #expect(!requests.isEmpty)
        #expect(requests.allSatisfy { $0.request.headers.first("Authorization") == nil }, "\(path)")
      }
    }
    await other.stop()
  }

  @Test func `A relayed manifest is rewritten whatever range and coding the client accepts`()
    async throws
  {
    try await withProxy { test in
      test.serve(list, at: "/list.m3u8")
      let reply = try await test.get(
        "/list.m3u8", ["Cache-Control: no-store", "Range: bytes=0-", "Accept-Encoding: gzip"])
      #expect(reply.status == 200)
      #expect(reply.text.contains("/\(test.token)/http/\(test.originHost)/s1.ts"))
    }
  }

  @Test func `A playlist imports the variables of its multivariant playlist`() async throws {
    try await withProxy { test in
      let place = test.origin.baseURL.absoluteString
      test.serve(
        """
        #EXTM3U
        #EXT-X-DEFINE:NAME="host",VALUE="\(place)"
        #EXT-X-STREAM-INF:BANDWIDTH=1
        a.m3u8

        """, at: "/master.m3u8")
      test.serve(
        "#EXTM3U\n#EXT-X-DEFINE:IMPORT=\"host\"\n#EXTINF:2,\n{$host}/far/s0.ts\n", at: "/a.m3u8")
      let (master, target) = try await test.follow(try test.target("/master.m3u8"))
      let child = try test.reference(master, to: "a.m3u8", at: target)
      let (reply, _) = try await test.follow(child)
      #expect(reply.text.contains("/http/\(test.originHost)/far/s0.ts"))
      #expect(!reply.text.contains("{$host}"))
    }
  }

  @Test func `A playlist with more variables than a session keeps is an error`() async throws {
    try await withProxy { test in
      let definitions = (0..<5).map { index in
        let value = String(repeating: "v", count: 60_000)
        return "#EXT-X-DEFINE:NAME=\"n\(index)\",VALUE=\"\(value)\"\n"
      }
      test.serve(
        "#EXTM3U\n\(definitions.joined())#EXT-X-STREAM-INF:BANDWIDTH=1\na.m3u8\n",
        at: "/master.m3u8")
      let (reply, _) = try await test.follow(try test.target("/master.m3u8"))
      #expect(reply.status == 502 && reply.text.contains("too long"), "\(reply.status)")
    }
  }

  @Test func `New variables replace those of earlier playlists that leave them no room`() throws {
    let url = try #require(URL(string: "https://a.example/m.m3u8"))
    let session = StreamSession(
      StreamSession.Record(id: "x", url: url, headers: [], lastUse: 0), CookieJar(begun: .now),
      noteChange: {})
    let long = String(repeating: "v", count: 100_000)
    #expect(session.define(["a": long, "b": "1"]) && session.define(["c": long, "b": "2"]))
    #expect(session.importable == ["a": long, "b": "2", "c": long])
    #expect(session.define(["d": long]))
    #expect(session.importable == ["d": long])
    #expect(!session.define(["e": long + long + long]))
    #expect(session.importable == ["d": long])
  }

  @Test func `An unknown session is a request without one`() async throws {
    try await withProxy { test in
      test.serve(list, at: "/list.m3u8")
      let target = try test.target("/list.m3u8")
        .replacing("/\(test.token)/", with: "/\(test.token)/~gone/")
      let (reply, _) = try await test.follow(target)
      #expect(reply.status == 200 && !reply.text.contains("~gone"))
      #expect(reply.text.contains("/\(test.token)/http/\(test.originHost)/s0.ts"))
    }
  }

  @Test func `A browser's requests have the cookies of the stream, and none that it stores`()
    async throws
  {
    try await withProxy { test in
      test.serve(
        list, at: "/list.m3u8", headers: [Field("Set-Cookie", "CloudFront-Policy=abc; Path=/")])
      for path in ["/s0.ts", "/s1.ts"] {
        test.origin.serve(.synthetic(seed: 1, length: 1000), at: path)
      }
      let browser = [
        "Cookie: CloudFront-Policy=old; c=d", "Sec-Fetch-Mode: cors", "Sec-Fetch-Site: none",
      ]
      let (reply, target) = try await test.follow(try test.target("/list.m3u8"), browser)
      #expect(target.contains("/~"))
      for name in ["s0.ts", "s1.ts"] {
        let part = try test.reference(reply, to: name, at: target)
        let segment = try await test.follow(part, browser).0
        #expect(segment.status == 200, "\(name)")
        let sent = test.origin.log("/" + name).requests.map { $0.request.headers.first("Cookie") }
        #expect(sent == ["CloudFront-Policy=abc"], "\(name)")
      }
    }
  }

  @Test func `A browser's cookies for the proxy begin no session`() async throws {
    try await withProxy { test in
      test.serve(list, at: "/list.m3u8")
      let reply = try await test.get(
        "/list.m3u8", ["Cookie: a=b", "Sec-Fetch-Mode: cors", "Sec-Fetch-Site: none"])
      #expect(reply.status == 200 && !reply.text.contains("/~"))
    }
  }
}
