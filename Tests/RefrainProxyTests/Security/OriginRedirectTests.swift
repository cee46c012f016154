// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// A reverse proxy follows its origin's redirects within the origin, and to allowed hosts: an open
/// redirect there must not read the proxy's network.
@Suite(.timeLimit(.minutes(2))) struct OriginRedirectTests {
  private func withOther(
    _ body: (OriginServer) async throws -> Void
  ) async throws {
    let other = try await OriginServer.start()
    other.serve(Caching.resource(9, ["Cache-Control": "max-age=600"]), at: "/secret")
    do { try await body(other) } catch {
      await other.stop()
      throw error
    }
    await other.stop()
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func `A redirect to another host is passed on, and not followed`(status: Int) async throws {
    try await withOther { other async throws in
      try await withReverseProxy { test async throws in
        let places = [
          other.url("/secret").absoluteString, "//127.0.0.1:\(other.port)/secret",
          "HTTP://127.0.0.1:\(other.port)/secret",
          "http://127.0.0.1:\(test.origin.port)@127.0.0.1:\(other.port)/secret",
          "http://localhost:\(test.origin.port)/secret",
        ]
        for (index, place) in places.enumerated() {
          let path = "/r\(index)"
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
    let origin = try await OriginServer.start()
    let prefix = origin.url("/pub")
    try await withReverseProxy(proxy: { $0.origin = prefix }) { test async throws in
      origin.serve(Caching.resource(9, [:]), at: "/secret")
      origin.serve(Caching.resource(1, [:]), at: "/pub/a")
      let base = origin.baseURL.absoluteString
      for (index, place) in [
        "/secret", "../secret", base + "/pub/../secret", base + "/pub/%2e%2e/secret",
        base + "/public/x", base + "/PUB/a",
      ].enumerated() {
        origin.script("/pub/r\(index)", .on(.all, .redirect(302, to: place)))
        let reply = try await test.connect {
          try await $0.reply(to: "/r\(index)", host: test.host)
        }
        #expect(reply.status == 302, "\(place)")
      }
      #expect(origin.log("/secret").requests.isEmpty)
      origin.script("/pub/in", .on(.all, .redirect(302, to: "a")))
      let reply = try await test.connect { try await $0.reply(to: "/in", host: test.host) }
      #expect(reply.status == 200 && reply.body == Caching.bytes(1))
    }
    await origin.stop()
  }
}
