// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// A reverse proxy follows its origin's redirects within the origin, and to allowed hosts: an open
/// redirect there must not read the proxy's network.
@Suite(.timeLimit(.minutes(2))) struct OriginRedirectTests {
  private func withOther(_ body: (OriginServer) async throws -> Void) async throws {
    try await withOrigin { other in
      other.serve(Caching.resource(9, ["Cache-Control": "max-age=600"]), at: "/secret")
      try await body(other)
    }
  }

  @Test func `A redirect to another host is passed on, and not followed`() async throws {
    try await withOther { other async throws in
      try await withReverseProxy { test async throws in
        let places = [
          other.url("/secret").absoluteString, "//127.0.0.1:\(other.port)/secret",
          "HTTP://127.0.0.1:\(other.port)/secret",
          "http://127.0.0.1:\(test.origin.port)@127.0.0.1:\(other.port)/secret",
          "http://localhost:\(test.origin.port)/secret",
        ]
        for status in [301, 302, 303, 307, 308] {
          for (index, place) in places.enumerated() {
            let path = "/\(status)/\(index)"
            let fault = Fault.status(
              status, headers: [Field("Location", place), Field("X-Mine", "1")],
              body: Array("over there".utf8))
            test.origin.script(path, .on(.all, fault))
            for headers in [[], ["Cache-Control: no-store"], ["Range: bytes=5-9"]] {
              for method in ["GET", "HEAD"] {
                let reply = try await test.get(path, headers, method: method)
                #expect(reply.status == status && reply["X-Mine"] == "1", "\(place)")
                #expect(reply["Location"]?.lowercased().contains("/secret") == true, "\(place)")
                if method == "GET" { #expect(reply.text == "over there") }
              }
            }
          }
        }
        #expect(test.origin.log("/secret").requests.isEmpty)
        #expect(try await test.cache.entries().isEmpty)
      }
      #expect(other.connectionsAccepted == 0)
    }
  }

  @Test func `A redirect chain is followed only if it stays within the origin`() async throws {
    try await withOther { other async throws in
      try await withReverseProxy { test async throws in
        test.serve("/end", ["Cache-Control": "max-age=600"])
        test.origin.script("/1", .on(.all, .redirect(302, to: "/2")))
        test.origin.script(
          "/2", .on(.all, .redirect(302, to: test.origin.url("/end").absoluteString)))
        for _ in 0..<2 { #expect(try await test.get("/1").body == Caching.bytes(1)) }
        #expect(try await test.asked("/end") == 1)
        test.origin.script("/3", .on(.all, .redirect(302, to: "/4")))
        test.origin.script(
          "/4", .on(.all, .redirect(307, to: other.url("/secret").absoluteString)))
        let reply = try await test.get("/3")
        #expect(reply.status == 302 && reply["Location"] == "/4")
        let next = try await test.get("/4")
        #expect(next.status == 307 && next["Location"] == other.url("/secret").absoluteString)
      }
      #expect(other.connectionsAccepted == 0)
    }
  }

  @Test func `A redirect to an allowed host is followed`() async throws {
    try await withOther { other async throws in
      try await withReverseProxy(proxy: { $0.allowedHosts = ["127.0.0.1:\(other.port)"] }) {
        test async throws in
        test.origin.script(
          "/r", .on(.all, .redirect(302, to: other.url("/secret").absoluteString)))
        for _ in 0..<2 { #expect(try await test.get("/r").body == Caching.bytes(9)) }
        #expect(try await other.wait(for: "/secret") { $0.running == 0 }.requests.count == 1)
        // The origin itself is allowed without being named.
        test.serve("/a", [:])
        #expect(try await test.get("/a").body == Caching.bytes(1))
        // Only a redirected request gets there.
        let url = other.url("/secret")
        #expect(throws: MediaCacheError.self) { try test.proxy.url(for: url) }
      }
    }
  }

  @Test func `A redirect out of the origin's path prefix is passed on`() async throws {
    try await withReverseProxy(proxy: { $0.origin?.append(path: "pub") }) { test async throws in
      let origin = test.origin
      origin.serve(Caching.resource(9, [:]), at: "/secret")
      origin.serve(Caching.resource(1, [:]), at: "/pub/a")
      let base = origin.baseURL.absoluteString
      for (index, place) in [
        "/secret", "../secret", base + "/pub/../secret", base + "/pub/%2e%2e/secret",
        base + "/public/x", base + "/PUB/a",
      ].enumerated() {
        origin.script("/pub/r\(index)", .on(.all, .redirect(302, to: place)))
        #expect(try await test.reply(to: "/r\(index)").status == 302, "\(place)")
      }
      #expect(origin.log("/secret").requests.isEmpty)
      origin.script("/pub/in", .on(.all, .redirect(302, to: "a")))
      let reply = try await test.reply(to: "/in")
      #expect(reply.status == 200 && reply.body == Caching.bytes(1))
    }
  }

  @Test(arguments: ["//evil.example/", "//evil.example", "///evil.example/a"])
  func `A Location whose path looks like a host stays a path`(_ path: String) async throws {
    try await withReverseProxy { test async throws in
      let location = test.origin.baseURL.absoluteString + path
      test.origin.script("/a", .on(.all, .redirect(302, to: location)))
      let reply = try await test.get("/a", ["Cache-Control: no-store"])
      #expect(reply.status == 302)
      let given = try #require(reply["Location"])
      let base = try #require(URL(string: "http://\(test.host)/a"))
      let resolved = try #require(URL(string: given, relativeTo: base)?.absoluteURL)
      #expect(resolved.host() == "127.0.0.1" && resolved.port == test.port, "\(given)")
      #expect(given == "/." + path)
    }
  }
}

/// Requests that would go round in circles.
@Suite(.timeLimit(.minutes(2))) struct RequestLoopTests {
  @Test(arguments: ["GET", "HEAD"])
  func `A redirect back to the proxy is answered 508`(_ method: String) async throws {
    try await withProxy { test async throws in
      // A new URL each time, so that no request can join another.
      let url = try test.proxy.url(for: test.origin.url("/a"))
      test.origin.script(
        "/a",
        .on(.all, .redirect(302, to: url.absoluteString + "?" + String(repeating: "x", count: 8))))
      #expect(try await test.get("/a", method: method).status == 508)
      #expect(try await test.asked("/a") <= 2)
    }
  }

  @Test func `A request that loops back to the proxy is answered 508`() async throws {
    let port = try #require(FreePort.next())
    try await withReverseProxy(proxy: { configuration in
      configuration.port = port
      configuration.origin = URL(string: "http://127.0.0.1:\(port)")
    }) { test async throws in
      for method in ["POST", "GET"] {
        #expect(try await test.reply(to: "/a", ["Content-Length: 0"], method: method).status == 508)
      }
    }
  }

  @Test func `CDN-Loop lists both proxies, and a loop is answered 508`() async throws {
    try await withEcho { test, server async throws in
      _ = try await test.reply(to: "/a", ["CDN-Loop: other; v=1", "Cache-Control: no-store"])
      let seen = try #require(server.requests.last)
      let own = try #require(seen.field("Via")?.split(separator: " ").last)
      #expect(seen.field("CDN-Loop") == "other; v=1, \(own)")
      #expect(try await test.reply(to: "/a", ["CDN-Loop: x, \(own)"]).status == 508)
    }
  }
}
