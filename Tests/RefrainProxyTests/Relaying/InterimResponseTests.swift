// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy

/// Interim responses of the origin (RFC 9110 §15.2).
@Suite(.timeLimit(.minutes(2))) struct InterimResponseTests {
  private static let hints = [
    Fault.informational(102),
    .informational(
      103, headers: [Field("Link", "</a.css>; rel=preload"), Field("Connection", "x")]),
  ]

  @Test func `Interim responses never disturb the final one, and are not stored`() async throws {
    try await Caching.withBoth { test async throws in
      test.serve("/a", ["Cache-Control": "max-age=600"])
      test.origin.script("/a", .on(.all, Self.hints + [.informational(199)]))
      for _ in 0..<2 {
        let reply = try await test.get("/a")
        #expect(reply.status == 200 && reply.body == Caching.bytes(1) && reply["Link"] == nil)
      }
      #expect(try await test.asked("/a") == 1)
      let entries = try await test.cache.entries()
      #expect(entries.count == 1)
    }
  }

  @Test func `A client that waits for a stored response receives interim ones`() async throws {
    try await withReverseProxy { test async throws in
      test.serve("/a", ["Cache-Control": "max-age=600"])
      test.origin.script("/a", .on(.all, Self.hints))
      try await test.connect { connection async throws in
        for informational in [[102, 103], []] {
          let reply = try await connection.reply(to: "/a", [], method: "GET", host: test.host)
          #expect(reply.status == 200 && reply.isComplete)
          #expect(reply.informational == informational)
        }
      }
      #expect(try await test.asked("/a") == 1)
    }
  }

  @Test(arguments: [("GET", "Cache-Control: no-store"), ("POST", "Content-Length: 0")])
  func `A relayed request receives interim responses`(
    _ method: String, _ field: String
  ) async throws {
    try await withReverseProxy { test async throws in
      test.serve("/a", [:])
      test.origin.script(
        "/a", .on(.all, Self.hints).on(.where { $0.method == "POST" }, .status(201)))
      try await test.connect { connection async throws in
        for _ in 0..<2 {
          let reply = try await connection.reply(
            to: "/a", [field], method: method, host: test.host)
          #expect(reply.status == (method == "GET" ? 200 : 201) && reply.isComplete)
          #expect(reply.informational == [102, 103])
        }
        try await connection.request("/a", [field], method: method, host: test.host)
        let first = try #require(try await connection.readText(before: "\r\n\r\n"))
        #expect(first.hasPrefix("HTTP/1.1 102 ") && !first.contains("\r\n"))
        let second = try #require(try await connection.readText(before: "\r\n\r\n"))
        #expect(second.hasPrefix("HTTP/1.1 103 "))
        #expect(second.split(separator: "\r\n").dropFirst() == ["Link: </a.css>; rel=preload"])
      }
    }
  }

  @Test func `A client of HTTP/1.0 receives the final response alone`() async throws {
    try await withReverseProxy { test async throws in
      test.serve("/a", [:])
      test.origin.script("/a", .on(.all, Self.hints))
      try await test.connect { connection async throws in
        try await connection.send(
          "GET /a HTTP/1.0\r\nHost: \(test.host)\r\nCache-Control: no-store\r\n\r\n")
        let reply = try await connection.readReply()
        #expect(reply.status == 200 && reply.informational.isEmpty)
        #expect(reply.body == Caching.bytes(1))
      }
    }
  }
}
