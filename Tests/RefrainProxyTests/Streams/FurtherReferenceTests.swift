// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy

/// References of streams that few players follow.
@Suite(.timeLimit(.minutes(1))) struct FurtherReferenceTests {
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
        let reply = try await test.connect {
          try await $0.reply(to: path, [], method: "GET", host: test.host)
        }
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
