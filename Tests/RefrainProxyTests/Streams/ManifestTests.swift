// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

@testable import Refrain
@testable import RefrainProxy

/// Manifests of streams: their references lead through the proxy, and nothing else changes.
@Suite(.timeLimit(.minutes(1))) struct ManifestTests {
  /// Names of which the second is recognized by its content alone.
  private static let names = ["list.m3u8", "list.bin"]

  private static func type(_ name: String) -> String {
    name.hasSuffix("m3u8") ? "application/vnd.apple.mpegurl" : "application/octet-stream"
  }

  private static let list =
    "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n/s0.ts\n#EXT-X-ENDLIST\n"

  @Test func `References that would leave the proxy are rewritten, all other bytes stay`()
    async throws
  {
    try await withProxy { test in
      let origin = test.origin.baseURL.absoluteString
      let list = """
        \u{FEFF}#EXTM3U\r
        #EXT-X-KEY:METHOD=AES-128,URI="/keys/1",IV=0x1\r
        #EXT-X-MAP:URI="init.mp4"\r
        #EXTINF:2,\r
        s0.ts\r
        #EXTINF:2,A title, "quoted"\r
        #EXT-X-UNKNOWN:URI="/left"\r
        \(origin)/far/s1.ts?a=b&c=%2F\r
        #EXTINF:2,\r
        //\(test.originHost)/s2.ts\r
        #EXTINF:2,\r
        ../../../../s3.ts\r
        #EXTINF:2,\r
        data:,x\r
        #EXT-X-ENDLIST\r

        """
      test.serve(list, at: "/a/b/list.m3u8")
      let reply = try await test.get("/a/b/list.m3u8")
      let place = "/\(test.token)/http/\(test.originHost)"
      let expected =
        list
        .replacing("\"/keys/1\"", with: "\"\(place)/keys/1\"")
        .replacing("\(origin)/far", with: "\(place)/far")
        .replacing("//\(test.originHost)/s2.ts", with: "\(place)/s2.ts")
        .replacing("../../../../s3.ts", with: "\(place)/s3.ts")
      #expect(reply.text == expected)
      #expect(reply.status == 200 && reply["Content-Type"] == "application/vnd.apple.mpegurl")
      #expect(reply["Content-Length"] == String(expected.utf8.count))
      #expect(reply["Accept-Ranges"] == nil)
    }
  }

  @Test func `A manifest without such references is sent as it is stored`() async throws {
    try await withProxy { test in
      let list = "#EXTM3U\n#EXTINF:2,\ns0.ts\n#EXTINF:2,\nsub/s1.ts\n#EXT-X-ENDLIST\n"
      test.serve(list, at: "/list.m3u8")
      let reply = try await test.get("/list.m3u8", ["Range: bytes=0-6"])
      #expect(reply.status == 206 && reply.text == "#EXTM3U" && reply["ETag"] == "\"v1\"")
    }
  }

  @Test(arguments: names)
  func `A rewritten manifest is sent whole, without validators, for conditions and HEAD too`(
    _ name: String
  ) async throws {
    try await withProxy { test in
      for isFirst in [false, true] {
        let path = "/\(isFirst)/\(name)"
        test.serve(Self.list, at: path, type: Self.type(name))
        let early = isFirst ? try await test.get(path, method: "HEAD") : nil
        let first = try await test.get(path)
        #expect(first.text.contains("/\(test.token)/http/"))
        #expect(first["ETag"] == nil && first["Last-Modified"] == nil)
        for head in [early, try await test.get(path, method: "HEAD")].compactMap(\.self) {
          #expect(head.status == 200 && head.body.isEmpty && head["ETag"] == nil)
          #expect(head["Content-Length"] == String(first.body.count))
        }
        for field in ["If-None-Match: \"v1\"", "Range: bytes=3-5"] {
          let other = try await test.get(path, [field])
          #expect(other.status == 200 && other.body == first.body, "\(field)")
        }
      }
    }
  }

  @Test(arguments: names)
  func `A manifest that has changed is rewritten for a conditional request`(
    _ name: String
  ) async throws {
    try await withProxy { test in
      let stale = [Field("Cache-Control", "max-age=0")]
      test.serve(Self.list, at: "/\(name)", type: Self.type(name), headers: stale)
      _ = try await test.get("/\(name)")
      let list = Self.list.replacing("s0", with: "s1")
      test.serve(list, at: "/\(name)", type: Self.type(name), etag: "\"v2\"", headers: stale)
      let reply = try await test.get("/\(name)", ["If-None-Match: \"v1\""])
      #expect(reply.status == 200 && reply["ETag"] == nil)
      #expect(reply.text.contains("/\(test.token)/http/\(test.originHost)/s1.ts"), "\(reply.text)")
    }
  }

  @Test func `The cache stores the original, which is rewritten as before without the origin`()
    async throws
  {
    try await withProxy { test in
      test.serve(Self.list, at: "/list.m3u8")
      let first = try await test.get("/list.m3u8")
      let reader = try await test.cache.open(test.origin.url("/list.m3u8"))
      defer { reader.cancel() }
      #expect(try await reader.bytes(in: 0..<1000) == Data(Self.list.utf8))
      await test.origin.stopListening()
      let second = try await test.get("/list.m3u8")
      #expect(second.status == 200 && second.body == first.body)
      try await test.origin.resumeListening()
    }
  }

  @Test(arguments: ["video/mp2t", "application/octet-stream"])
  func `A manifest is recognized by its name under any type`(_ type: String) async throws {
    try await withProxy { test in
      test.serve("#EXTM3U\n#EXTINF:2,\n/s0.ts\n", at: "/list.m3u8", type: type)
      let reply = try await test.get("/list.m3u8")
      #expect(reply.text.contains("/\(test.token)/http/"))
    }
  }

  @Test func `A file that is only named like a manifest is sent as it is, with ranges`()
    async throws
  {
    try await withProxy { test in
      test.origin.serve(.synthetic(seed: 1, length: 5 << 20), at: "/large.m3u8")
      test.serve("not a playlist\n/s0.ts\n", at: "/small.m3u8")
      let large = try await test.get("/large.m3u8", ["Range: bytes=100-199"])
      #expect(large.status == 206)
      #expect(large.body == SyntheticBytes(seed: 1).bytes(in: 100..<200))
      let whole = try await test.get("/large.m3u8")
      #expect(whole.body.count == 5 << 20)
      let small = try await test.get("/small.m3u8")
      #expect(small.text == "not a playlist\n/s0.ts\n")
    }
  }

  @Test(arguments: names)
  func `A playlist that is longer than any manifest is passed through, with ranges`(
    _ name: String
  ) async throws {
    try await withProxy { test in
      let line = "#EXTINF:2,\n/s0.ts\n"
      let count = (4 << 20) / line.utf8.count + 10
      let list = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n" + String(repeating: line, count: count)
      test.serve(list, at: "/\(name)", type: Self.type(name))
      let range = try await test.get("/\(name)", ["Range: bytes=0-6"])
      #expect(range.status == 206 && range.text == "#EXTM3U")
      #expect(try await test.get("/\(name)").text == list)
    }
  }

  @Test(arguments: [true, false])
  func `Stored or relayed, a longer playlist is passed through with its length and without`(
    _ declaresLength: Bool
  ) async throws {
    try await withProxy { test in
      let line = "#EXTINF:2,\n/s0.ts\n"
      let list = "#EXTM3U\n" + String(repeating: line, count: (4 << 20) / line.utf8.count + 10)
      var resource = OriginResource(.bytes(Array(list.utf8)), contentType: "audio/mpegurl")
      resource.declaresLength = declaresLength
      resource.supportsRanges = false
      test.origin.serve(resource, at: "/list")
      for field in ["X-A: b", "Cache-Control: no-store"] {
        let reply = try await test.get("/list", [field])
        #expect(reply.text == list && reply.isComplete, "\(field)")
      }
    }
  }

  @Test func `The references of a DASH manifest are rewritten in its own spelling`() async throws {
    try await withProxy { test in
      let origin = test.origin.baseURL.absoluteString
      let text = """
        <?xml version="1.0"?>
        <!-- <BaseURL>/no/</BaseURL> -->
        <MPD type="static"><BaseURL>\(origin)/v/</BaseURL><Period>
        <SegmentTemplate media='/a/$Number%05d$.m4s?x=1&amp;y=2' initialization="init-$Time$.mp4"/>
        </Period></MPD>
        """
      test.serve(text, at: "/a.mpd", type: "application/dash+xml")
      let place = "/\(test.token)/http/\(test.originHost)"
      let reply = try await test.get("/a.mpd")
      #expect(
        reply.text
          == text.replacing("\(origin)/v/", with: "\(place)/v/")
          .replacing("'/a/$Number", with: "'\(place)/a/$Number"))
    }
  }

  @Test(arguments: names)
  func `A manifest that was redirected is requested under its own URL`(
    _ name: String
  ) async throws {
    try await withProxy { test in
      test.serve(Self.list, at: "/far/\(name)", type: Self.type(name))
      test.serve("", at: "/\(name)")
      let far = test.origin.url("/far/\(name)").absoluteString
      test.origin.script("/\(name)", .on(.all, .redirect(302, to: far)))
      let reply = try await test.get("/\(name)")
      #expect(reply.status == 302)
      #expect(reply["Location"] == (try test.target("/far/\(name)")))
    }
  }

  @Test func `A manifest that was redirected is redirected offline too`() async throws {
    try await withProxy { test in
      let list = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\ns0.ts\n#EXT-X-ENDLIST\n"
      test.serve(list, at: "/far/list.m3u8")
      test.serve("", at: "/list.m3u8")
      let far = test.origin.url("/far/list.m3u8").absoluteString
      test.origin.script("/list.m3u8", .on(.all, .redirect(302, to: far)))
      // The redirect is known before the manifest has arrived.
      test.origin.script(
        "/far/list.m3u8", .on(.all, .stall(at: .body(4), for: .milliseconds(50))))
      for _ in 0..<2 {
        let reply = try await test.get("/list.m3u8")
        #expect(reply.status == 302)
        #expect(reply["Location"] == (try test.target("/far/list.m3u8")))
        let text = try await test.get("/far/list.m3u8").text
        #expect(text == list)
        test.cache.isOffline = true
      }
    }
  }

  /// As with a redirect to a session, or to a URL with a token.
  @Test func `A stored manifest stays at its place when its redirect leads elsewhere`()
    async throws
  {
    try await withProxy { test in
      let list = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\ns0.ts\n#EXT-X-ENDLIST\n"
      for path in ["/one/list.m3u8", "/two/list.m3u8"] { test.serve(list, at: path) }
      test.serve("", at: "/list.m3u8")
      func lead(to path: String) {
        let target = test.origin.url(path).absoluteString
        test.origin.script("/list.m3u8", .on(.all, .redirect(302, to: target)))
      }
      let targets = try ["/one/list.m3u8", "/two/list.m3u8"].map { try test.target($0) }
      lead(to: "/one/list.m3u8")
      try await #expect(test.get("/list.m3u8")["Location"] == targets[0])
      try await #expect(test.get("/one/list.m3u8").text == list)
      // An entry that is still open goes directly to the end of its last redirect.
      try await eventually("every entry is closed") {
        _ = test.cache.table.releaseIdle()
        return test.cache.table.isEmpty
      }
      // What is stored stays in use as long as it can.
      lead(to: "/two/list.m3u8")
      try await #expect(test.get("/list.m3u8")["Location"] == targets[0])
      try await #expect(test.get("/one/list.m3u8").text == list)
    }
  }

  @Test func `A reverse proxy rewrites absolute URLs of its origin alone`() async throws {
    try await withReverseProxy { test in
      let origin = test.origin.baseURL.absoluteString
      let list = """
        #EXTM3U
        #EXTINF:2,
        \(origin)/far/s0.ts
        #EXTINF:2,
        /s1.ts
        #EXTINF:2,
        http://other.example/s2.ts

        """
      test.serve(list, at: "/list.m3u8")
      let reply = try await test.reply(to: "/list.m3u8")
      #expect(reply.text == list.replacing("\(origin)/far", with: "/far"))
    }
  }

  @Test func `Content steering is removed, since it would lead clients to other hosts`()
    async throws
  {
    try await withProxy { test in
      let tag = "#EXT-X-CONTENT-STEERING:SERVER-URI=\"/steer\",PATHWAY-ID=\"A\"\n"
      let list = "#EXTM3U\n\(tag)#EXT-X-STREAM-INF:BANDWIDTH=1\na.m3u8\n"
      test.serve(list, at: "/list.m3u8")
      let reply = try await test.get("/list.m3u8")
      #expect(reply.text == list.replacing(tag, with: ""))
    }
  }

  @Test func `Segments are not revalidated while their playlist is`() async throws {
    try await withProxy { test in
      let stale = [Field("Cache-Control", "max-age=0")]
      test.serve(
        "#EXTM3U\n#EXTINF:2,\n/s0.ts\n#EXTINF:2,\ns1.ts\n#EXT-X-ENDLIST\n", at: "/l.m3u8",
        headers: stale)
      var resource = OriginResource.synthetic(seed: 1, length: 1000)
      resource.headers = stale
      for path in ["/s0.ts", "/s1.ts", "/other.ts"] { test.origin.serve(resource, at: path) }
      for _ in 0..<2 {
        let list = try await test.get("/l.m3u8")
        #expect(list.status == 200)
        for path in ["/s0.ts", "/s1.ts", "/other.ts"] {
          let segment = try await test.get(path)
          #expect(segment.body.count == 1000)
        }
      }
      #expect(test.origin.log("/l.m3u8").requests.compactMap(\.status) == [200, 304])
      #expect(test.origin.log("/s0.ts").requests.count == 1)
      #expect(test.origin.log("/s1.ts").requests.count == 1)
      #expect(test.origin.log("/other.ts").requests.count == 2)
    }
  }

  /// VLC sends this directive with every request.
  @Test func `With no-cache, a stream plays while its origin cannot be reached`() async throws {
    try await withProxy { test in
      test.serve("#EXTM3U\n#EXTINF:2,\n/s0.ts\n#EXT-X-ENDLIST\n", at: "/l.m3u8")
      test.origin.serve(.synthetic(seed: 1, length: 1000), at: "/s0.ts")
      func play() async throws -> [Int] {
        var statuses: [Int] = []
        for path in ["/l.m3u8", "/s0.ts"] {
          let reply = try await test.get(path, ["Cache-Control: no-cache"])
          statuses.append(reply.status)
        }
        return statuses
      }
      #expect(try await play() == [200, 200])
      #expect(try await play() == [200, 200])
      #expect(test.origin.log("/l.m3u8").requests.count == 2)
      #expect(test.origin.log("/s0.ts").requests.count == 1)
      await test.origin.stopListening()
      #expect(try await play() == [200, 200])
      try await test.origin.resumeListening()
    }
  }

  @Test func `An ongoing manifest among segments is requested again once it is stale`()
    async throws
  {
    try await withProxy { test in
      let stale = [Field("Cache-Control", "max-age=0")]
      let list = "#EXTM3U\n#EXT-X-TARGETDURATION:0\n#EXTINF:2,\n/s0.ts\n"
      let dynamic = "<MPD type=\"dynamic\" minimumUpdatePeriod=\"PT0S\"></MPD>"
      test.serve("#EXTM3U\n#EXTINF:-1,One\n/live.m3u8\n", at: "/channels.m3u8")
      test.serve(list, at: "/live.m3u8", headers: stale)
      test.serve(dynamic, at: "/dir/live.mpd", type: "application/dash+xml", headers: stale)
      test.serve("{}", at: "/dir/state.json", type: "application/json", headers: stale)
      _ = try await test.get("/channels.m3u8")
      for path in ["/live.m3u8", "/dir/live.mpd", "/dir/state.json"] {
        for _ in 0..<3 { _ = try await test.get(path) }
        #expect(test.origin.log(path).requests.count == 3, "\(path)")
      }
    }
  }

  @Test(arguments: ["%2e%2e/%2e%2E/%2e%2e/x/y", "..\\..\\..\\x\\y", ".\t./../../../x"])
  func `A reference that browsers resolve in another way does not leave its host`(
    _ reference: String
  ) async throws {
    try await withProxy { test in
      test.serve("#EXTM3U\n#EXTINF:2,\n\(reference)\n", at: "/a/list.m3u8")
      let text = try await test.get("/a/list.m3u8").text
      let line = try #require(text.split(separator: "\n").last)
      let place = "/\(test.token)/http/\(test.originHost)/"
      #expect(line.hasPrefix(place) || line.hasPrefix(test.origin.baseURL.absoluteString))
    }
  }

  @Test func `A segment whose origin insists on it is revalidated`() async throws {
    try await withProxy { test in
      test.serve("#EXTM3U\n#EXTINF:2,\n/s0.ts\n#EXT-X-ENDLIST\n", at: "/l.m3u8")
      var resource = OriginResource.synthetic(seed: 1, length: 1000)
      resource.headers = [Field("Cache-Control", "no-cache")]
      test.origin.serve(resource, at: "/s0.ts")
      _ = try await test.get("/l.m3u8")
      for _ in 0..<2 { _ = try await test.get("/s0.ts") }
      #expect(test.origin.log("/s0.ts").requests.compactMap(\.status) == [206, 304])
    }
  }

  // MARK: References that few players follow

  @Test func `Session keys and interstitials lead through the proxy`() async throws {
    try await withProxy { test in
      let list = """
        #EXTM3U
        #EXT-X-SESSION-KEY:METHOD=AES-128,URI="/keys/1"
        #EXT-X-SESSION-DATA:DATA-ID="com.example.title",URI="/title.json"
        #EXT-X-STREAM-INF:BANDWIDTH=1000
        media.m3u8

        """
      let media = """
        #EXTM3U
        #EXT-X-TARGETDURATION:4
        #EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00Z
        #EXT-X-DATERANGE:ID="1",CLASS="com.apple.hls.interstitial",X-ASSET-URI="/ads/1.m3u8"
        #EXT-X-DATERANGE:ID="2",CLASS="com.apple.hls.interstitial",X-ASSET-LIST="/ads.json?x=1"
        #EXTINF:4,
        s0.ts
        #EXT-X-ENDLIST

        """
      test.serve(list, at: "/a/list.m3u8")
      test.serve(media, at: "/a/media.m3u8")
      test.serve("0123456789abcdef", at: "/keys/1", type: "application/octet-stream")
      let place = "/\(test.token)/http/\(test.originHost)"
      let reply = try await test.get("/a/list.m3u8")
      #expect(
        reply.text
          == list.replacing("\"/keys/1\"", with: "\"\(place)/keys/1\"")
          .replacing("\"/title.json\"", with: "\"\(place)/title.json\""))
      let mediaReply = try await test.get("/a/media.m3u8")
      #expect(mediaReply.text == media.replacing("=\"/ads", with: "=\"\(place)/ads"))
      for _ in 0..<2 {
        let key = try await test.get("/keys/1")
        #expect(key.status == 200 && key.text == "0123456789abcdef")
      }
      #expect(test.origin.log("/keys/1").requests.count == 1)
    }
  }

  @Test func `Behind a reverse proxy, a path that begins with two slashes names no host`()
    async throws
  {
    try await withReverseProxy { test in
      let origin = test.origin.baseURL.absoluteString
      let list = "#EXTM3U\n#EXTINF:2,\n\(origin)//x/s0.ts\n"
      let description = "<MPD><BaseURL>\(origin)//x/</BaseURL></MPD>"
      test.serve(list, at: "/list.m3u8")
      test.serve(description, at: "/a.mpd", type: "application/dash+xml")
      for (path, text) in [("/list.m3u8", list), ("/a.mpd", description)] {
        let reply = try await test.reply(to: path)
        #expect(reply.text == text.replacing(origin, with: "/."))
      }
    }
  }

  @Test(arguments: [[], ["Cache-Control: no-store"]])
  func `A manifest that would have to change too much is an error`(_ fields: [String]) async throws
  {
    try await withProxy { test in
      // Each of the short references takes the place of a long one.
      let path = "/\(String(repeating: "a", count: 3000))/list.m3u8"
      test.serve("#EXTM3U\n" + String(repeating: "%2e/x\n", count: 12_000), at: path)
      let reply = try await test.get(path, fields)
      #expect(reply.status == 502 && reply.text.contains("more references"), "\(reply.status)")
    }
  }
}
