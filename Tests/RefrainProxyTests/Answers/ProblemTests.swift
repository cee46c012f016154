// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Errors of the proxy: a sentence for people, JSON for programs that ask for it (RFC 9457).
@Suite(.timeLimit(.minutes(1))) struct ProblemTests {
  @Test(arguments: [
    ["Accept: application/json"], ["Accept: application/problem+json, text/plain;q=0.5"],
    ["Accept: text/html", "Accept: Application/JSON;q=0.1"],
  ])
  func `A program that accepts JSON receives it`(fields: [String]) async throws {
    try await withProxy { test async throws in
      let reply = try await test.connect {
        try await $0.reply(to: "/no-token/x", fields, host: test.host)
      }
      #expect(reply["Content-Type"] == "application/problem+json")
      #expect(reply["Cache-Control"] == "no-store")
      let problem = try #require(
        try JSONSerialization.jsonObject(with: Data(reply.body)) as? [String: Any])
      #expect(problem["status"] as? Int == reply.status && reply.status >= 400)
      #expect((problem["detail"] as? String)?.isEmpty == false)
      // HEAD announces the same, without the body.
      let head = try await test.connect {
        try await $0.reply(to: "/no-token/x", fields, method: "HEAD", host: test.host)
      }
      #expect(head.body.isEmpty && head["Content-Length"] == "\(reply.body.count)")
      try await eventually("both are logged") { test.log.all.count == 2 }
      #expect(test.log.all.map(\.bytesSent) == [Int64(reply.body.count), 0])
    }
  }

  @Test(arguments: [
    [], ["Accept: */*"], ["Accept: text/html, application/xml"],
    ["Accept: application/json;q=0"], ["Accept: application/jsonp"],
  ])
  func `Others receive a sentence`(fields: [String]) async throws {
    try await withProxy { test async throws in
      let reply = try await test.connect {
        try await $0.reply(to: "/no-token/x", fields, host: test.host)
      }
      #expect(reply["Content-Type"] == "text/plain; charset=utf-8" && reply.text.hasSuffix("\n"))
    }
  }

  @Test func `An unreachable origin is a problem too`() async throws {
    try await withProxy(cache: { $0.retry = .init() }) { test async throws in
      let port = try #require(FreePort.next())
      let url = try #require(URL(string: "http://127.0.0.1:\(port)/a"))
      let target = try test.proxy.url(for: url).path(percentEncoded: true)
      let reply = try await test.connect {
        try await $0.reply(to: target, ["Accept: application/json"], host: test.host)
      }
      #expect(reply.status == 502 && reply.json["status"] as? Int == 502)
    }
  }
}
