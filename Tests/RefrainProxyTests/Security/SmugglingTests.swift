// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Requests that two programs might parse differently (RFC 9112 §11.2) are refused and the
/// connection is closed, so that later bytes are never taken for a request.
@Suite(.timeLimit(.minutes(2))) struct SmugglingTests {
  static let heads: [(String, status: Int)] = [
    ("POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 5\r\nContent-Length: 6\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 5\r\nContent-Length: 5\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 5, 5\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: +5\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0x5\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length : 5\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding : chunked\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: xchunked\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked, identity\r\n", 400),
    (
      "POST / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n", 400
    ),
    ("POST / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding:\u{0B}chunked\r\n", 400),
    ("POST / HTTP/1.0\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: HOST\r\nX: a\rb\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: HOST\r\nX: a\nb: c\r\n", 400),
    ("GET / HTTP/1.1\nHost: HOST\n\n", 400),
    ("GET / HTTP/1.1\r\nHost: HOST\r\nX: a\r\n b\r\n", 400),
    ("GET / HTTP/1.1\r\n X: a\r\nHost: HOST\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: HOST\r\nHost: other\r\n", 400),
    ("GET / HTTP/1.1\r\n", 400),
    ("GET /  HTTP/1.1\r\nHost: HOST\r\n", 400),
    ("GET / HTTP/1.1 \r\nHost: HOST\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: HOST\r\nX\u{0}: a\r\n", 400),
    ("GET /\(String(repeating: "a", count: 20_000)) HTTP/1.1\r\nHost: HOST\r\n", 414),
    ("GET / HTTP/1.1\r\nHost: HOST\r\nX: \(String(repeating: "a", count: 40_000))\r\n", 431),
    (
      "GET / HTTP/1.1\r\nHost: HOST\r\n" + String(repeating: "X: a\r\n", count: 200), 431
    ),
  ]

  @Test(arguments: heads.indices)
  func `An ambiguous or oversized head is refused, and nothing after it is read`(
    index: Int
  ) async throws {
    let (head, status) = Self.heads[index]
    try await withReverseProxy { test async throws in
      test.serve("/smuggled", ["Cache-Control": "max-age=600"])
      let smuggled = "GET /smuggled HTTP/1.1\r\nHost: \(test.host)\r\n\r\n"
      try await test.connect { connection async throws in
        // On a connection that was valid so far.
        #expect(try await connection.reply(to: "/none", host: test.host).status == 404)
        let text = head.replacing("HOST", with: test.host) + "\r\n0\r\n\r\n"
        try await connection.send(text + smuggled + smuggled)
        let reply = try await connection.readReply()
        #expect(reply.status == status, "\(head.prefix(100)): \(reply.text)")
        #expect(reply["Connection"] == "close")
        #expect(try await connection.readToEnd().isEmpty)
      }
      #expect(test.origin.log("/smuggled").requests.isEmpty)
      #expect(test.origin.log("/").requests.isEmpty)
    }
  }

  static let chunks = [
    "5\nhello\r\n0\r\n\r\n", "5 \r\nhello\r\n0\r\n\r\n", "-5\r\nhello\r\n0\r\n\r\n",
    "0x5\r\nhello\r\n0\r\n\r\n", "5\r\nhelloworld\r\n0\r\n\r\n", "5\r\nhello\n0\r\n\r\n",
    "fffffffffffffffff\r\nhello\r\n0\r\n\r\n", "\r\nhello\r\n0\r\n\r\n", "g\r\n\r\n0\r\n\r\n",
    "5;a=\u{1}\r\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n0\r\nbad name: x\r\n\r\n",
    "5;\(String(repeating: "a", count: 5000))\r\nhello\r\n0\r\n\r\n",
  ]

  @Test(arguments: chunks.indices)
  func `A wrongly framed body ends the request and the connection`(index: Int) async throws {
    let body = Self.chunks[index]
    let server = try EchoServer()
    defer { server.stop() }
    let origin = try server.url
    try await withReverseProxy(proxy: { $0.origin = origin }) { test async throws in
      try await test.connect { connection async throws in
        let smuggled = "GET /smuggled HTTP/1.1\r\nHost: \(test.host)\r\n\r\n"
        try await connection.send(
          "POST /a HTTP/1.1\r\nHost: \(test.host)\r\nTransfer-Encoding: chunked\r\n\r\n" + body
            + smuggled)
        let reply = try await connection.readReply()
        #expect(reply.status == 0 || reply.status >= 400, "\(reply.status) for \(body.prefix(30))")
        #expect(try await connection.readToEnd().isEmpty)
      }
      #expect(!server.requests.contains { $0.head.contains("smuggled") })
      #expect(!server.requests.contains { $0.isComplete }, "\(server.requests)")
    }
  }

  @Test func `A request with a refused body is answered only once`() async throws {
    try await withProxy { test async throws in
      let target = try test.target("/a")
      try await test.connect { connection async throws in
        try await connection.send(
          "POST \(target) HTTP/1.1\r\nHost: \(test.host)\r\nTransfer-Encoding: chunked\r\n\r\n")
        #expect(try await connection.readReply().status == 405)
        try await connection.send("nonsense\r\n\r\nGET \(target) HTTP/1.1\r\n\r\n")
        #expect(try await connection.readToEnd().isEmpty)
      }
    }
  }

  @Test func `The body of a refused request is not parsed as a request`() async throws {
    try await withProxy { test async throws in
      test.serve("/a", ["Cache-Control": "max-age=600"])
      let target = try test.target("/a")
      try await test.connect { connection async throws in
        let body = "GET \(target) HTTP/1.1\r\nHost: \(test.host)\r\n\r\n"
        try await connection.send(
          "POST \(target) HTTP/1.1\r\nHost: \(test.host)\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
            + body + "HEAD \(target) HTTP/1.1\r\nHost: \(test.host)\r\nConnection: close\r\n\r\n")
        #expect(try await connection.readReply().status == 405)
        #expect(try await connection.readReply(hasBody: false).status == 200)
        #expect(try await connection.readToEnd().isEmpty)
      }
    }
  }

  @Test func `Encoded line breaks in a target stay encoded`() async throws {
    let server = try EchoServer()
    defer { server.stop() }
    let origin = try server.url
    try await withReverseProxy(proxy: { $0.origin = origin }) { test async throws in
      for target in [
        "/a%0d%0aX-Evil:%20yes", "/a?b=%0D%0AX-Evil:%20yes%0d%0a%0d%0aGET%20/", "/%00",
      ] {
        let reply = try await test.connect {
          try await $0.reply(to: target, ["Content-Length: 0"], method: "POST", host: test.host)
        }
        #expect(reply.status == 200 || reply.status == 400)
        if let head = server.requests.last?.head, reply.status == 200 {
          #expect(head.hasPrefix("POST \(target) HTTP/1.1\r\n"))
          #expect(!head.contains("\r\nX-Evil"))
        }
      }
    }
  }
}
