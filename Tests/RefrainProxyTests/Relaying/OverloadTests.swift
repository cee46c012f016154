// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// An overloaded origin is not asked again and again.
@Suite(.timeLimit(.minutes(2))) struct OverloadTests {
  /// Runs with the default retry delays.
  private func withEither(
    isShared: Bool, _ time: LiveTime = LiveTime(), _ body: (TestProxy) async throws -> Void
  ) async throws {
    let change = { (configuration: inout MediaCache.Configuration) in
      configuration.retry = RetryPolicy()
      configuration.clock = time.now
    }
    if isShared {
      try await withReverseProxy(cache: change, body)
    } else {
      try await withProxy(cache: change, body)
    }
  }

  @Test(arguments: [false, true], ["GET", "HEAD"])
  func `Each client costs two requests and little delay without Retry-After`(
    isShared: Bool, method: String
  ) async throws {
    try await withEither(isShared: isShared) { test async throws in
      test.origin.script("/a", .on(.all, .status(503, headers: [], body: Array("busy".utf8))))
      let start = ContinuousClock.now
      for client in 1...3 {
        let reply = try await test.get("/a", method: method)
        #expect(reply.status == 503)
        if method == "GET" { #expect(reply.text == "busy") }
        #expect(try await test.asked("/a") == 2 * client)
      }
      // All attempts of a playing reader would take 7.75 seconds for each.
      #expect(ContinuousClock.now - start < .seconds(7))
    }
  }

  @Test(arguments: [false, true], [503, 429])
  func `The origin receives one request for all clients until Retry-After is over`(
    isShared: Bool, status: Int
  ) async throws {
    let time = LiveTime()
    try await withEither(isShared: isShared, time) { test async throws in
      test.serve("/a", [:])
      test.origin.script("/a", .on(.number(1), .status(status, .seconds(20))))
      for (seconds, left) in [(0.0, 20), (5, 15), (19, 1)] {
        time.advance(to: seconds)
        for headers in [[], ["User-Agent: other"], ["Range: bytes=5-"]] {
          for method in ["GET", "HEAD"] {
            let reply = try await test.get("/a", headers, method: method)
            #expect(reply.status == status)
            #expect(reply["Retry-After"] == "\(left)")
          }
        }
      }
      #expect(try await test.asked("/a") == 1)
      time.advance(to: 20.5)
      #expect(try await test.get("/a").body == Caching.bytes(1))
      #expect(try await test.asked("/a") == 2)
    }
  }

  @Test
  func `An unstorable resource is not requested until Retry-After is over, either`() async throws {
    let time = LiveTime()
    try await withEither(isShared: true, time) { test async throws in
      test.serve("/a", ["Cache-Control": "no-store"])
      #expect(try await test.get("/a").body == Caching.bytes(1))
      let before = try await test.asked("/a")
      test.origin.script("/a", .on(.number(1), .unavailable(.seconds(20))))
      let first = try await test.get("/a")
      #expect(first.status == 503 && first["Retry-After"] == "20")
      time.advance(to: 5)
      for headers in [[], ["Cache-Control: no-store"]] {
        let second = try await test.get("/a", headers)
        #expect(second.status == 503 && second["Retry-After"] == "15")
      }
      #expect(try await test.asked("/a") == before + 1)
      time.advance(to: 21)
      #expect(try await test.get("/a").body == Caching.bytes(1))
    }
  }

  @Test func `A stored response is served until Retry-After is over`() async throws {
    let time = LiveTime()
    try await withEither(isShared: false, time) { test async throws in
      test.serve("/a", Caching.stale())
      #expect(try await test.get("/a").body == Caching.bytes(1))
      test.origin.script("/a", .on(.all, .unavailable(.seconds(20))))
      for _ in 0..<4 {
        let reply = try await test.get("/a")
        #expect(reply.body == Caching.bytes(1))
        #expect(reply["Cache-Status"]?.contains("; ttl=-") == true)
      }
      #expect(try await test.asked("/a") == 2)
    }
  }

  @Test func `A very long Retry-After delays requests only briefly`() async throws {
    let time = LiveTime()
    try await withEither(isShared: false, time) { test async throws in
      test.serve("/a", [:])
      test.origin.script("/a", .on(.number(1), .unavailable(.seconds(86400))))
      #expect(try await test.get("/a")["Retry-After"] == "86400")
      time.advance(to: 31)
      #expect(try await test.get("/a").body == Caching.bytes(1))
    }
  }
}
