// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// A shared cache stores no response made for one user: cookies in the request, or in the response,
/// make it personal.
@Suite(.timeLimit(.minutes(2))) struct CookieTests {
  /// Fields without explicit freshness, which is estimated.
  private static let unstated = ["Last-Modified": HTTPDate.format(Date() - 86400 * 20)]

  /// Serves bytes of seed 2 to logged-in users, and of seed 1 to all others.
  private func servePages(_ test: TestProxy, _ fields: [String: String]) {
    test.serve("/a", 1, fields)
    test.origin.script(
      "/a",
      .on(
        .where { $0.headers.first("Cookie")?.contains("me=") == true },
        .answerFrom(Caching.resource(2, fields))))
  }

  private func cookies(_ test: TestProxy) async throws -> [String?] {
    try await test.settledLog("/a").requests.map { $0.request.headers.first("Cookie") }
  }

  @Test(arguments: [
    CookieTests.unstated, ["Cache-Control": "max-age=600"],
    ["Cache-Control": "max-age=600, must-revalidate"],
  ])
  func `A response to a request with cookies is served to no other client`(
    _ fields: [String: String]
  ) async throws {
    try await withReverseProxy { test async throws in
      servePages(test, fields)
      for method in ["GET", "HEAD", "GET"] {
        let mine = try await test.get("/a", ["Cookie: me=1"], method: method)
        #expect(mine.status == 200)
        if method == "GET" { #expect(mine.body == Caching.bytes(2)) }
        #expect(try await cookies(test).last == "me=1")
      }
      #expect(try await test.cache.entries().isEmpty)
      _ = try await test.get("/a", ["Cookie: me=2"])
      #expect(try await cookies(test).last == "me=2")
      #expect(try await test.get("/a").body == Caching.bytes(1))
    }
  }

  @Test func `One client's cookies do not prevent storing the response for others`() async throws {
    try await withReverseProxy { test async throws in
      servePages(test, ["Cache-Control": "max-age=600"])
      #expect(try await test.get("/a", ["Cookie: me=1"]).body == Caching.bytes(2))
      // The first request may come while the response to the one with cookies is still remembered.
      try await eventually("it is stored for others") {
        let reply = try await test.get("/a")
        #expect(reply.body == Caching.bytes(1))
        return reply["Cache-Status"]?.hasPrefix("refrain; hit;") == true
      }
    }
  }

  @Test
  func `A response stored without cookies is not served to a request with cookies`() async throws {
    try await withReverseProxy { test async throws in
      servePages(test, ["Cache-Control": "max-age=600"])
      for _ in 0..<3 { #expect(try await test.get("/a").body == Caching.bytes(1)) }
      for round in 1...3 {
        for headers in [["Cookie: me=\(round)"], ["Cookie: me=\(round)", "Range: bytes=5-9"]] {
          let mine = try await test.get("/a", headers)
          #expect(
            mine.body == (mine.status == 206 ? Array(Caching.bytes(2)[5..<10]) : Caching.bytes(2)))
        }
      }
      #expect(try await test.get("/a").body == Caching.bytes(1))
      #expect(try await cookies(test).filter { $0 == nil }.count == 1)
    }
  }

  @Test(arguments: ["public, max-age=600", "s-maxage=600", "public, max-age=600, must-revalidate"])
  func `A public response is stored once, regardless of cookies`(_ control: String) async throws {
    try await withReverseProxy { test async throws in
      test.serve("/a", ["Cache-Control": control])
      for headers in [["Cookie: me=1"], ["Cookie: me=2"], [], ["Cookie: me=1"]] {
        for method in ["GET", "HEAD"] {
          #expect(try await test.get("/a", headers, method: method).status == 200)
        }
      }
      #expect(try await test.asked("/a") == 1)
    }
  }

  @Test(arguments: [
    CookieTests.unstated, ["Cache-Control": "max-age=600"],
    ["Cache-Control": "public, max-age=600"], ["Cache-Control": "s-maxage=600"],
  ])
  func `A response that sets a cookie is passed on completely and not stored`(
    _ fields: [String: String]
  ) async throws {
    try await withReverseProxy { test async throws in
      test.serve("/a", fields)
      for person in 1...3 {
        test.origin.script("/a", .on(.all, .header("Set-Cookie", "session=\(person)")))
        let reply = try await test.get("/a")
        #expect(reply["Set-Cookie"] == "session=\(person)" && reply.body == Caching.bytes(1))
      }
      #expect(try await test.cache.entries().isEmpty)
    }
  }

  @Test func `A cookie set by a revalidation reaches the client`() async throws {
    try await withReverseProxy { test async throws in
      test.serve("/a", Caching.stale())
      #expect(try await test.get("/a").body == Caching.bytes(1))
      for person in 1...2 {
        test.origin.script("/a", .on(.all, .header("Set-Cookie", "session=\(person)")))
        let reply = try await test.get("/a")
        #expect(reply["Set-Cookie"] == "session=\(person)" && reply.body == Caching.bytes(1))
      }
    }
  }

  @Test(arguments: [CookieTests.unstated, ["Cache-Control": "private"]])
  func `Simultaneous clients with different cookies receive their own pages`(
    _ fields: [String: String]
  ) async throws {
    try await withReverseProxy { test async throws in
      for round in 0..<20 {
        let path = "/p\(round)"
        test.serve(path, fields)
        test.origin.script(
          path,
          .on(
            .where { $0.headers.first("Cookie") == "me=1" },
            .answerFrom(Caching.resource(2, fields))
          ).on(
            .where { $0.headers.first("Cookie") == "me=2" },
            .answerFrom(Caching.resource(3, fields))))
        async let nobody = test.get(path)
        async let one = test.get(path, ["Cookie: me=1"])
        async let other = test.get(path, ["Cookie: me=2"])
        #expect(try await nobody.body == Caching.bytes(1))
        #expect(try await one.body == Caching.bytes(2))
        #expect(try await other.body == Caching.bytes(3))
      }
    }
  }

  @Test func `A private cache stores responses to requests with cookies`() async throws {
    try await withProxy { test async throws in
      test.serve("/a", Self.unstated)
      for _ in 0..<3 { _ = try await test.get("/a", ["Cookie: me=1"]) }
      #expect(try await test.asked("/a") == 1)
    }
  }
}
