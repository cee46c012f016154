// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Origin responses other than the resource.
@Suite(.timeLimit(.minutes(2))) struct RelayedAnswerTests {
  @Test func `A connection goes on after the origin's error, and ends if its client asks`()
    async throws
  {
    try await withReverseProxy { test async throws in
      for status in [404, 503] {
        test.origin.script("/\(status)", .on(.all, .status(status, headers: [], body: [119])))
        try await test.connect { connection async throws in
          let head = try await connection.reply(to: "/\(status)", method: "HEAD", host: test.host)
          #expect(head.status == status)
          let next = try await connection.reply(
            to: "/\(status)", ["Connection: close"], host: test.host)
          #expect(next.status == status && next.text == "w" && next.isComplete)
          #expect(try await connection.readToEnd().isEmpty)
        }
      }
    }
  }

  @Test func `Responses without a body are framed correctly`() async throws {
    try await withReverseProxy { test async throws in
      test.origin.script("/204", .on(.all, .status(204)))
      test.serve("/a", ["Cache-Control": "private"])
      try await test.connect { connection async throws in
        for _ in 0..<2 {
          let empty = try await connection.reply(
            to: "/204", ["Content-Length: 0"], method: "POST", host: test.host)
          #expect(empty.status == 204)
          #expect(empty["Content-Length"] == nil && empty["Transfer-Encoding"] == nil)
          let same = try await connection.reply(
            to: "/a", ["If-None-Match: \"seed-1\""], host: test.host)
          #expect(same.status == 304)
          #expect(same["Transfer-Encoding"] == nil)
          let head = try await connection.reply(to: "/a", method: "HEAD", host: test.host)
          #expect(head.status == 200 && head["Content-Length"] == "\(Caching.length)")
          #expect(
            try await connection.reply(to: "/a", host: test.host).body == Caching.bytes(1))
        }
      }
    }
  }

  @Test func `The Location of a relayed redirect is rewritten for the proxy`() async throws {
    let cases = [
      ("/b?c=d#e", "/b?c=d#e"), ("b", "/dir/b"), ("../b", "/b"), ("ORIGIN/b", "/b"),
      ("//HOST/b", "/b"), ("https://elsewhere.example/b", "https://elsewhere.example/b"),
    ]
    for isReverse in [true, false] {
      try await Caching.withEither(isShared: isReverse) { test async throws in
        let base = test.origin.baseURL.absoluteString
        for (location, expected) in cases {
          let named = location.replacing("ORIGIN", with: base)
            .replacing("HOST", with: "127.0.0.1:\(test.origin.port)")
          test.origin.script("/dir/a", .on(.all, .redirect(302, to: named)))
          let reply = try await test.get("/dir/a", ["Cache-Control: no-store"])
          #expect(reply.status == 302)
          let prefix = try test.target("/").dropLast()
          var wanted = prefix + expected
          if expected.hasPrefix("https:") {
            wanted =
              isReverse
              ? expected[...]
              : "/\(prefix.split(separator: "/")[0])/https/elsewhere.example/b"
          }
          #expect(reply["Location"] == String(wanted), "\(location)")
        }
      }
    }
  }

  @Test func `A Location is rewritten only within the origin's path prefix`() async throws {
    try await withReverseProxy(proxy: { configuration in
      configuration.origin = configuration.origin?.appending(path: "base")
    }) { test async throws in
      for (location, expected) in [("/base/b", "/b"), ("b", "/b")] {
        test.origin.script("/base/a", .on(.all, .redirect(302, to: location)))
        let reply = try await test.reply(to: "/a", ["Cache-Control: no-store"])
        #expect(reply["Location"] == expected, "\(location)")
      }
      test.origin.script("/base/a", .on(.all, .redirect(302, to: "/other")))
      let reply = try await test.reply(to: "/a", ["Cache-Control: no-store"])
      #expect(reply["Location"] == test.origin.url("/other").absoluteString)
    }
  }

  @Test func `Redirects are followed for media and passed on for playlists`() async throws {
    try await withProxy { test async throws in
      test.origin.script("/a", .on(.all, .redirect(301, to: "/dir/b")))
      test.serve("/dir/b", ["Cache-Control": "max-age=600"])
      for _ in 0..<2 {
        let reply = try await test.get("/a")
        #expect(reply.status == 200 && reply.body == Caching.bytes(1))
      }
      var playlist = Caching.resource(2, ["Cache-Control": "max-age=600"])
      playlist.contentType = "application/vnd.apple.mpegurl"
      test.origin.serve(playlist, at: "/dir/list.m3u8")
      test.origin.script("/list", .on(.all, .redirect(302, to: "/dir/list.m3u8")))
      for _ in 0..<2 {
        let reply = try await test.get("/list")
        #expect(reply.status == 302)
        #expect(reply["Location"] == (try test.target("/dir/list.m3u8")))
      }
      #expect(try await test.get("/dir/list.m3u8").body == Caching.bytes(2))
    }
  }

  @Test func `A request to an unreachable origin is answered 502 with one line`() async throws {
    try await withReverseProxy(cache: { $0.retry.attempts = 1 }) { test async throws in
      await test.origin.stopListening()
      for method in ["GET", "POST"] {
        let reply = try await test.get("/a", ["Content-Length: 0"], method: method)
        #expect(reply.status == 502)
        #expect(reply["Content-Type"] == "text/plain; charset=utf-8")
        #expect(reply.text.hasSuffix("\n") && reply.text.split(separator: "\n").count == 1)
      }
      try await test.origin.resumeListening()
    }
  }

  @Test func `A request to a silent origin is answered 504 with one line`() async throws {
    try await withReverseProxy(cache: {
      $0.retry.attempts = 1
      $0.responseTimeout = .milliseconds(200)
    }) { test async throws in
      test.serve("/a", [:])
      test.origin.script("/a", .on(.all, .delay(nil)))
      let reply = try await test.get("/a")
      #expect(reply.status == 504)
      #expect(reply.text.split(separator: "\n").count == 1)
    }
  }

  @Test func `A client that leaves ends its relayed request`() async throws {
    try await withReverseProxy { test async throws in
      var large = OriginResource.synthetic(seed: 1, length: 1 << 40)
      large.headers = [Field("Cache-Control", "private")]
      test.origin.serve(large, at: "/a")
      try await test.connect { connection async throws in
        try await connection.request("/a", ["Cache-Control: no-store"], host: test.host)
        #expect(try await connection.readHead().status == 200)
        _ = try await connection.read(upTo: 100_000)
      }
      let log = try await test.settledLog("/a")
      #expect(log.requests.last?.outcome == .abandoned)
    }
  }

  @Test func `A truncated origin body reaches the client as incomplete`() async throws {
    try await withReverseProxy { test async throws in
      test.serve("/a", ["Cache-Control": "private"])
      for fault in [Fault.wrongContentLength(by: 500), .drop(at: .body(700)), .chunked] {
        test.origin.script("/a", .on(.all, fault, .drop(at: .body(700))))
        let reply = try await test.get("/a", ["Cache-Control: no-store"])
        #expect(reply.status == 200 && !reply.isComplete)
        #expect(reply.body == Array(Caching.bytes(1).prefix(reply.body.count)))
      }
    }
  }
}
