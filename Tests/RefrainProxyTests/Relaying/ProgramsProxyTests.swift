// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy

/// A proxy for one program, which may send any request, and whose helpers identify sites by their
/// URLs.
@Suite(.timeLimit(.minutes(2))) struct ProgramsProxyTests {
  @Test(arguments: ["PUT", "POST", "DELETE"])
  func `A request body reaches the origin completely`(_ method: String) async throws {
    let server = try EchoServer()
    defer { server.stop() }
    let url = try server.url.appending(path: "up.flac")
    try await withProxy(proxy: { configuration, _ in configuration.relayedMethods = .all }) {
      test async throws in
      let target = try test.proxy.url(for: url).path(percentEncoded: true)
      let body = String(repeating: "b", count: 70_000)
      let reply = try await test.connect { connection async throws in
        try await connection.send(
          "\(method) \(target) HTTP/1.1\r\nHost: \(test.host)\r\nContent-Length: \(body.count)\r\n\r\n"
            + body)
        return try await connection.readReply()
      }
      #expect(reply.status == 200 && reply.text == body)
      #expect(server.requests.map(\.body.count) == [body.count])
      #expect(server.requests.first?.head.hasPrefix("\(method) /up.flac HTTP/1.1\r\n") == true)
    }
  }

  @Test(arguments: ["GET", "HEAD"])
  func `A page is redirected to its own URL, and media is served by the proxy`(
    _ method: String
  ) async throws {
    try await withProxy(proxy: { configuration, _ in configuration.redirectsPages = true }) {
      test async throws in
      var page = OriginResource.synthetic(seed: 1, length: 5000)
      page.contentType = "text/html; charset=utf-8"
      test.origin.serve(page, at: "/watch")
      test.origin.serve(.synthetic(seed: 2, length: 5000), at: "/a.mp3")
      for _ in 0..<2 {
        let reply = try await test.get("/watch", method: method)
        #expect(reply.status == 302)
        #expect(reply["Location"] == test.origin.url("/watch").absoluteString)
      }
      try await #expect(test.get("/a.mp3", method: method).status == 200)
    }
  }

  @Test func `Playlists and segments that a script sends as a page are not redirected`()
    async throws
  {
    try await withProxy(proxy: { configuration, _ in configuration.redirectsPages = true }) {
      test async throws in
      let list = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n/s0.php\n#EXT-X-ENDLIST\n"
      let target = try test.target("/s0.php")
      for path in ["/list.m3u8", "/list.php"] {
        test.serve(list, at: path, type: "text/html; charset=utf-8")
        let reply = try await test.get(path)
        #expect(reply.status == 200 && reply.text.contains(target), "\(path)")
      }
      var segment = OriginResource.synthetic(seed: 1, length: 5000)
      segment.contentType = "text/html"
      test.origin.serve(segment, at: "/s0.php")
      for _ in 0..<2 {
        let reply = try await test.get("/s0.php")
        #expect(reply.status == 200 && reply.body == SyntheticBytes(seed: 1).bytes(in: 0..<5000))
      }
    }
  }
}
