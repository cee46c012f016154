// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Requests that two programs might parse differently (RFC 9112 §11.2) are refused and the
/// connection is closed, so that later bytes are never taken for a request.
@Suite(.timeLimit(.minutes(2))) struct SmugglingTests {
  private static let requestLines: [(String, status: Int)] = [
    ("GET /\r\n", 400), ("GET / \r\n", 400), ("GET  / HTTP/1.1\r\n", 400),
    ("GET /  HTTP/1.1\r\n", 400), ("GET / HTTP/1.1 \r\n", 400), (" GET / HTTP/1.1\r\n", 400),
    ("GET /a b HTTP/1.1\r\n", 400), ("GET\t/ HTTP/1.1\r\n", 400), ("G@T / HTTP/1.1\r\n", 400),
    ("/ HTTP/1.1\r\n", 400), ("GET / http/1.1\r\n", 400), ("GET / HTTP/1\r\n", 400),
    ("GET / HTTP/1.11\r\n", 400), ("GET / HTTP/11\r\n", 400), ("GET / HTTP/x.1\r\n", 400),
    ("GET / HTTP/2.0\r\n", 505), ("PRI * HTTP/2.0\r\n", 505), ("GET / HTTP/0.9\r\n", 505),
    ("GET / HTTP/3.0\r\n", 505), ("GET /#a HTTP/1.1\r\n", 400), ("GET /é HTTP/1.1\r\n", 400),
    ("GET /\u{7F} HTTP/1.1\r\n", 400), ("GET a HTTP/1.1\r\n", 400),
    ("GET ftp://a/ HTTP/1.1\r\n", 400), ("GET https://a/ HTTP/1.1\r\n", 400),
    ("GET http:///a HTTP/1.1\r\n", 400), ("GET http:// HTTP/1.1\r\n", 400),
    ("GET a.example:80 HTTP/1.1\r\n", 400), ("GET * HTTP/1.1\r\n", 400),
    ("CONNECT a.example:80 HTTP/1.1\r\n", 501), ("GET /\r HTTP/1.1\r\n", 400),
    ("GET / HTTP/1.1\n", 400), ("\nGET / HTTP/1.1\r\n", 400), ("\rGET / HTTP/1.1\r\n", 400),
    ("\u{16}\u{3}\u{1}", 400), (String(repeating: "\r\n", count: 5) + "GET / HTTP/1.1\r\n", 400),
    ("GET /\(String(repeating: "a", count: 16 * 1024)) HTTP/1.1\r\n", 414),
    ("GET /\(String(repeating: "a", count: 48 * 1024))", 414),
    ("GET / HTTP/1.1\r\n X: a\r\n", 400), ("GET / HTTP/1.1\r\nHost: other\r\n", 400),
    ("GET / HTTP/1.0\r\nhost: other\r\n", 400),
  ]

  private static let long = String(repeating: "a", count: 16 * 1024 - 1)

  private static let fieldLines: [(String, status: Int)] = [
    ("X : a", 400), ("X: a\rb", 400), ("X: a\r", 400), ("X: a\u{0}b", 400), ("X: a\u{1}", 400),
    ("X: a\u{7F}", 400), ("X", 400), (": a", 400), (" X: a", 400), ("X Y: a", 400),
    ("Xé: a", 400), ("X\u{0}: a", 400), ("(X): a", 400), ("X: a\r\n b", 400),
    ("X: a\r\n\tb", 400), ("X: a\nY: b", 400), ("Range: bytes=0-1\r\nRange: bytes=0-1", 400),
    ("X: \(String(repeating: "a", count: 40_000))", 431), ("X: \(long)\r\nY: \(long)", 431),
    (Array(repeating: "X: a", count: 128).joined(separator: "\r\n"), 431),
  ]

  private static let framings: [(String, status: Int)] = [
    ("Content-Length: 0\r\nContent-Length: 0", 400), ("Content-Length: 1, 1", 400),
    ("Content-Length: 5\r\nContent-Length: 6", 400), ("Content-Length: 5, 5", 400),
    ("Content-Length: +1", 400), ("Content-Length: -1", 400), ("Content-Length:", 400),
    ("Content-Length: 0x1", 400), ("Content-Length: 1 1", 400), ("Content-Length : 5", 400),
    ("Content-Length: 9223372036854775808", 400), ("Content-Length: 99999999999999999999", 400),
    ("Content-Length: 3\r\nTransfer-Encoding: chunked", 400),
    ("Transfer-Encoding: chunked\r\nContent-Length: 3", 400),
    ("Transfer-Encoding: chunked, chunked", 400), ("Transfer-Encoding: chunked, gzip", 400),
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 400),
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip", 400),
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding: x", 400),
    ("Transfer-Encoding: gzip, chunked", 400), ("Transfer-Encoding: gzip", 400),
    ("Transfer-Encoding: xchunked", 400), ("Transfer-Encoding: chunked,", 400),
    ("Transfer-Encoding: , chunked", 400), ("Transfer-Encoding:", 400),
    ("Transfer-Encoding: identity", 400), ("Transfer-Encoding: chunked, identity", 400),
    ("Transfer-Encoding: chunked;q=1", 400), ("Transfer-Encoding : chunked", 400),
    ("Transfer-Encoding: \"chunked\"", 400), ("Transfer-Encoding:\u{0B}chunked", 400),
    ("Transfer-Encoding: \u{B}chunked", 400), ("Expect: a coffee\r\nContent-Length: 5", 417),
  ]

  private static let hosts = ["a b", "a,b", "a/b", "u@a", "a?b", "a\\b", "é"]

  private static var heads: [(String, status: Int)] {
    var heads: [(String, status: Int)] = [
      ("POST / HTTP/1.0\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n", 400),
      ("GET / HTTP/1.1\r\n", 400), ("GET / HTTP/1.1\nHost: HOST\n\n", 400),
      ("GET / HTTP/1.1\r\nHost: HOST\r\n\n", 400), ("GET / HTTP/1.1\r\nHost: HOST\n\n", 400),
    ]
    for (line, status) in requestLines { heads.append((line + "Host: HOST\r\n", status)) }
    for (line, status) in fieldLines {
      heads.append(("GET / HTTP/1.1\r\nHost: HOST\r\n\(line)\r\n", status))
    }
    for (lines, status) in framings {
      heads.append(("POST / HTTP/1.1\r\nHost: HOST\r\n\(lines)\r\n", status))
    }
    for host in hosts { heads.append(("GET / HTTP/1.1\r\nHost: \(host)\r\n", 400)) }
    return heads
  }

  @Test func `An ambiguous or oversized head is refused, and nothing after it is read`()
    async throws
  {
    try await withReverseProxy { test async throws in
      test.serve("/smuggled", ["Cache-Control": "max-age=600"])
      let smuggled = "GET /smuggled HTTP/1.1\r\nHost: \(test.host)\r\n\r\n"
      for (head, status) in Self.heads {
        let what: Comment = "\(head.prefix(100).debugDescription)"
        try await test.connect { connection async throws in
          // On a connection that was valid so far.
          #expect(try await connection.reply(to: "/none", host: test.host).status == 404)
          let text = head.replacing("HOST", with: test.host) + "\r\n0\r\n\r\n"
          try await connection.send(text + smuggled + smuggled)
          let reply = try await connection.readReply()
          #expect(reply.status == status, what)
          #expect(reply["Connection"] == "close", what)
          #expect(try await connection.readToEnd().isEmpty, what)
        }
      }
      #expect(test.origin.log("/smuggled").requests.isEmpty)
      #expect(test.origin.log("/").requests.isEmpty)
    }
  }

  private static let chunks = [
    "5\r\nhello\r\n", "\r\n", "+5\r\nhello\r\n", "-1\r\n", "0x5\r\nhello\r\n",
    " 5\r\nhello\r\n", "5 \r\nhello\r\n", "g\r\n", ";a\r\n", "5\nhello\r\n",
    "5;a\rb\r\nhello\r\n", "5;a=\u{0}\r\nhello\r\n", "5\r\nhellox\r\n", "5\r\nhello\n",
    "5\r\nhelloworld\r\n", "8000000000000000\r\n", "FFFFFFFFFFFFFFFFFFFFFF\r\n",
    "0\r\nX : y\r\n\r\n", "0\r\n\n", "0\r\nbad trailer\r\n\r\n",
  ]

  @Test func `A body in chunks is refused, and nothing after its head is read`() async throws {
    try await withEcho { test, server async throws in
      let head = "HTTP/1.1\r\nHost: \(test.host)\r\nTransfer-Encoding: chunked\r\n\r\n"
      let rest = "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: \(test.host)\r\n\r\n"
      for chunks in Self.chunks {
        let what: Comment = "\(chunks.prefix(30).debugDescription)"
        try await test.connect { connection async throws in
          try await connection.send("POST / \(head)\(chunks)\(rest)")
          let reply = try await connection.readReply()
          #expect(reply.status == 411 && reply["Connection"] == "close", what)
          #expect(try await connection.readToEnd().isEmpty, what)
        }
      }
      #expect(server.requests.isEmpty)
    }
  }

  @Test func `A body after its request was refused is neither answered nor taken for a request`()
    async throws
  {
    try await withProxy { test async throws in
      test.serve("/a", ["Cache-Control": "max-age=600"])
      let body = try test.request(for: "/a")
      for (method, status) in [("POST", 405), ("GET", 400)] {
        try await test.connect { connection async throws in
          let fields = ["Content-Length: \(body.utf8.count)"]
          try await connection.send(try test.request(for: "/a", fields, method: method) + body)
          try await connection.send(
            try test.request(for: "/a", ["Connection: close"], method: "HEAD"))
          #expect(try await connection.readReply().status == status)
          #expect(try await connection.readReply(hasBody: false).status == 200)
          #expect(try await connection.readToEnd().isEmpty)
        }
      }
      try await test.connect { connection async throws in
        let fields = ["Transfer-Encoding: chunked"]
        try await connection.send(try test.request(for: "/a", fields, method: "POST"))
        #expect(try await connection.readReply().status == 411)
        try await connection.send("nonsense\r\n\r\n" + body)
        #expect(try await connection.readToEnd().isEmpty)
      }
    }
  }

  @Test func `Encoded line breaks in a target stay encoded`() async throws {
    try await withEcho { test, server async throws in
      for target in [
        "/a%0d%0aX-Evil:%20yes", "/a?b=%0D%0AX-Evil:%20yes%0d%0a%0d%0aGET%20/", "/%00",
      ] {
        let reply = try await test.reply(to: target, ["Content-Length: 0"], method: "POST")
        #expect(reply.status == 200 || reply.status == 400)
        if let head = server.requests.last?.head, reply.status == 200 {
          #expect(head.hasPrefix("POST \(target) HTTP/1.1\r\n"))
          #expect(!head.contains("\r\nX-Evil"))
        }
      }
    }
  }
}
