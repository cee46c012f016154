// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Requests that a reverse proxy relays unchanged.
@Suite(.timeLimit(.minutes(2))) struct RelayedRequestTests {
  @Test(arguments: ["POST", "PUT", "PATCH", "DELETE", "PROPFIND", "X-ODD", "OPTIONS", "get"])
  func `Other methods are relayed with their bodies`(method: String) async throws {
    try await withEcho { test, server async throws in
      try await test.connect { connection async throws in
        for size in [0, 1, 70_000] {
          let body = String(repeating: "b", count: size)
          try await connection.send(
            "\(method) /a?b=%41 HTTP/1.1\r\nHost: \(test.host)\r\nX-Mine: 1\r\n"
              + "Content-Length: \(size)\r\n\r\n" + body)
          let reply = try await connection.readReply()
          #expect(reply.status == 200 && reply.text == body)
          #expect(reply["Cache-Status"]?.contains("fwd=method") == true)
          let seen = try #require(server.requests.last)
          #expect(seen.head.hasPrefix("\(method) /a?b=%41 HTTP/1.1\r\n"))
          #expect(seen.field("X-Mine") == "1")
          #expect(seen.field("Via")?.hasPrefix("1.1 refrain-") == true)
        }
      }
    }
  }

  @Test func `Nothing is relayed while the cache is offline`() async throws {
    try await withEcho { test, server async throws in
      test.cache.isOffline = true
      try await test.connect { connection async throws in
        try await connection.send(
          "POST /a HTTP/1.1\r\nHost: \(test.host)\r\nContent-Length: 0\r\n\r\n")
        let reply = try await connection.readReply()
        #expect(reply.status == 504)
        #expect(server.requests.isEmpty)
      }
    }
  }

  @Test func `Hop-by-hop fields are removed in both directions`() async throws {
    try await withEcho({ _ in
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\n"
        + "Proxy-Authenticate: Basic\r\nTrailer: X\r\nUpgrade: h2c\r\nX-End: 1\r\n\r\nok"
    }) { test, server async throws in
      let sent = [
        "Connection: X-Hop, keep-alive", "connection: x-too ,", "X-HOP: 1", "X-Too: 2",
        "Keep-Alive: 5", "TE: trailers", "Trailer: X", "Proxy-Authorization: Basic eA==",
        "Proxy-Authenticate: x", "Upgrade: h2c", "Proxy-Connection: x", "Content-Length: 0",
        "X-End: 1", "x-end: 2", "Via: 1.1 other",
      ]
      for method in ["POST", "GET"] {
        let reply = try await test.reply(to: "/\(method)", sent, method: method)
        #expect(reply.status == 200 && reply.text == "ok")
        for name in ["X-Hop", "Keep-Alive", "Proxy-Authenticate", "Trailer", "Upgrade"] {
          #expect(reply[name] == nil, "\(name)")
        }
        #expect(reply["X-End"] == "1")
        let seen = try #require(server.requests.last)
        for name in [
          "X-Hop", "X-Too", "Keep-Alive", "TE", "Trailer", "Proxy-Authorization",
          "Proxy-Authenticate", "Upgrade", "Proxy-Connection", "Expect",
        ] { #expect(seen.field(name) == nil, "\(name)") }
        #expect(seen.field("X-End") == "1" && seen.head.lowercased().contains("x-end: 2"))
        #expect(seen.field("Via")?.hasPrefix("1.1 other, 1.1 refrain-") == true)
      }
    }
  }

  @Test func `Connection cannot remove essential fields`() async throws {
    try await withEcho { test, server async throws in
      let fields = [
        "Authorization: x", "Cache-Control: no-store", "Range: bytes=0-1", "If-Range: \"a\"",
        "Vary: *",
      ]
      let names = "Host, Content-Length, AUTHORIZATION, Cache-Control, Range, If-Range, Vary"
      try await test.connect { connection async throws in
        try await connection.request(
          "/a", fields + ["Connection: \(names)", "Content-Length: 1"], method: "POST",
          host: test.host)
        try await connection.send("x")
        #expect(try await connection.readReply().text == "x")
      }
      let seen = try #require(server.requests.last)
      for field in fields { #expect(seen.head.contains("\r\n\(field)\r\n"), "\(field)") }
      #expect(seen.field("Content-Length") == "1" && seen.field("Host") != nil)
    }
  }

  @Test func `A request with Expect receives 100 Continue unless it is refused`() async throws {
    try await withEcho { test, _ async throws in
      try await test.connect { connection async throws in
        try await connection.send(
          "PUT /a HTTP/1.1\r\nHost: \(test.host)\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
        )
        // No other response comes before the body was sent.
        let interim = try await connection.read(upTo: 25)
        #expect(String(decoding: interim, as: UTF8.self) == "HTTP/1.1 100 Continue\r\n\r\n")
        try await connection.send("hello")
        let reply = try await connection.readReply()
        #expect(reply.status == 200 && reply.text == "hello")
        let trace = try await connection.reply(
          to: "/a", ["Expect: 100-continue", "Content-Length: 5"], method: "TRACE", host: test.host)
        #expect(trace.status == 405 && trace.informational.isEmpty)
        #expect(try await connection.readToEnd().isEmpty)
      }
    }
  }

  @Test func `A late body is not mixed with the next request`() async throws {
    try await withRawOrigin({ connection in
      while true {
        let head = connection.readRequest()
        guard head.hasSuffix("\r\n\r\n") else { return }
        // The origin has received enough, and responds at once.
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        if head.contains("/late") {
          // The rest may still be relayed; then the connection is usable for the next request.
          guard let body = connection.read(20_000), body.dropFirst(3).allSatisfy({ $0 == 120 })
          else { return }
          continue
        }
        guard let body = connection.read(6), body == Array("second".utf8) else { return }
      }
    }) { test async throws in
      for _ in 0..<20 {
        try await test.connect { connection async throws in
          try await connection.send(
            "POST /late HTTP/1.1\r\nHost: \(test.host)\r\nContent-Length: 20000\r\n\r\nabc")
          #expect(try await connection.readReply().text == "ok")
          try await connection.send(
            String(repeating: "x", count: 19_997)
              + "POST /next HTTP/1.1\r\nHost: \(test.host)\r\nContent-Length: 6\r\n\r\nsecond")
          #expect(try await connection.readReply().text == "ok")
        }
      }
    }
  }

  @Test func `An early refusal by the origin is passed on or becomes 502`() async throws {
    try await withRawOrigin({ connection in
      _ = connection.readRequest()
      connection.send(
        "HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nno!")
    }) { test async throws in
      try await test.connect { connection async throws in
        try await connection.send(
          "POST /a HTTP/1.1\r\nHost: \(test.host)\r\nContent-Length: 100000000\r\n\r\nabc")
        let reply = try await connection.readReply()
        #expect(reply.status == 413 || reply.status == 502)
        if reply.status == 413 { #expect(reply.text == "no!") }
      }
    }
  }

  @Test func `A response is relayed while its request is still being sent`() async throws {
    try await withRawOrigin({ connection in
      _ = connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      for _ in 0..<3 {
        guard let bytes = connection.read(3) else { return }
        connection.send("3\r\n")
        connection.send(bytes)
        connection.send("\r\n")
      }
      connection.send("0\r\n\r\n")
    }) { test async throws in
      try await test.connect { connection async throws in
        try await connection.send(
          "POST /a HTTP/1.1\r\nHost: \(test.host)\r\nContent-Length: 9\r\n\r\n")
        #expect(try await connection.readHead().status == 200)
        for word in ["one", "two", "six"] {
          try await connection.send(word)
          let echoed = try await connection.read(upTo: 8)
          #expect(String(decoding: echoed, as: UTF8.self) == "3\r\n\(word)\r\n")
        }
        #expect(try await connection.read(upTo: 5) == Array("0\r\n\r\n".utf8))
      }
    }
  }

  @Test func `OPTIONS with an asterisk is answered by the proxy and not relayed`() async throws {
    try await withEcho { test, server async throws in
      try await test.connect { connection async throws in
        for _ in 0..<2 {
          let reply = try await connection.reply(to: "*", method: "OPTIONS", host: test.host)
          #expect(reply.status == 204)
          #expect(reply["Allow"]?.contains("GET") == true)
        }
        let own = try await connection.reply(to: "/", method: "OPTIONS", host: test.host)
        #expect(own.status == 200)
      }
      let lines = server.requests.map { $0.head.split(separator: "\r\n").first }
      #expect(lines == ["OPTIONS / HTTP/1.1"])
    }
    // One with tokens reveals nothing.
    try await withProxy { test async throws in
      #expect(try await test.reply(to: "*", method: "OPTIONS").status == 404)
    }
  }
}
