// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Requests to a reverse proxy that are refused after their head, or have no path.
@Suite(.timeLimit(.minutes(2))) struct MalformedBodyTests {
  private func withEcho(
    _ body: @Sendable (TestProxy, EchoServer) async throws -> Void
  ) async throws {
    let server = try EchoServer()
    defer { server.stop() }
    let origin = try server.url
    try await withReverseProxy(proxy: { $0.origin = origin }) { test async throws in
      try await body(test, server)
    }
  }

  @Test(arguments: [
    "x\r\n", "5\r\nabcdefg\r\n", "-1\r\n", "5\r\nabcde\r\nzz\r\n", "5\nabcde\r\n",
    "ffffffffffffffffff\r\n", "0\r\nbad trailer\r\n\r\n",
  ])
  func `Malformed chunks are answered 400`(_ chunks: String) async throws {
    try await withEcho { test, server async throws in
      try await test.connect { connection async throws in
        // In one piece with the head.
        let head = "POST /a HTTP/1.1\r\nHost: \(test.host)\r\nTransfer-Encoding: chunked\r\n\r\n"
        try await connection.send(head + chunks)
        let reply = try await connection.readReply()
        #expect(reply.status == 400 && reply["Connection"] == "close")
        #expect(try await connection.readToEnd().isEmpty)
      }
      try await test.connect { connection async throws in
        try await connection.send(
          "POST /b HTTP/1.1\r\nHost: \(test.host)\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
        )
        try await eventually("the head arrives") {
          server.requests.contains { $0.head.hasPrefix("POST /b") }
        }
        try await connection.send(chunks)
        let reply = try await connection.readReply()
        #expect(reply.status == 400)
        #expect(try await connection.readToEnd().isEmpty)
      }
      #expect(server.requests.allSatisfy { !$0.isComplete })
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
  }

  @Test func `OPTIONS with an asterisk is answered 404 by a proxy with tokens`() async throws {
    try await withProxy { test async throws in
      try await test.connect { connection async throws in
        let reply = try await connection.reply(to: "*", method: "OPTIONS", host: test.host)
        #expect(reply.status == 404)
      }
    }
  }
}
