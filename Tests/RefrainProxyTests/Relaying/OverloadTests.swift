// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// What an overloaded origin is asked.
@Suite(.timeLimit(.minutes(2))) struct OverloadTests {
  /// Runs with the default retry delays.
  private func withEither(
    isShared: Bool, _ body: (TestProxy) async throws -> Void
  ) async throws {
    let change = { (configuration: inout MediaCache.Configuration) in
      configuration.retry = RetryPolicy()
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

  @Test func `A stored response is served while the origin is overloaded`() async throws {
    try await withEither(isShared: false) { test async throws in
      test.serve("/a", Caching.stale())
      #expect(try await test.get("/a").body == Caching.bytes(1))
      test.origin.script("/a", .on(.all, .unavailable(.seconds(20))))
      for _ in 0..<4 {
        let reply = try await test.get("/a")
        #expect(reply.body == Caching.bytes(1))
        #expect(reply["Cache-Status"]?.contains("; ttl=-") == true)
      }
    }
  }

  @Test(arguments: [false, true], [503, 429])
  func `An error with Retry-After is passed on at once`(isShared: Bool, status: Int) async throws {
    try await withEither(isShared: isShared) { test async throws in
      test.serve("/a", [:])
      test.origin.script("/a", .on(.number(1), .status(status, .seconds(20))))
      let reply = try await test.get("/a")
      #expect(reply.status == status && reply["Retry-After"] == "20")
      #expect(try await test.asked("/a") == 1)
      #expect(try await test.get("/a").body == Caching.bytes(1))
    }
  }
}
