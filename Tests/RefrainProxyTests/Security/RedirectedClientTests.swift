// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import RefrainProxy

/// The permitted targets of an origin's redirect, for a client and for the proxy itself.
@Suite(.timeLimit(.minutes(2))) struct RedirectedClientTests {
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

  @Test(arguments: ["GET", "HEAD"])
  func `A redirect back to the proxy is answered 508`(_ method: String) async throws {
    try await withProxy { test async throws in
      // A new URL each time, so that no request can join another.
      let url = try test.proxy.url(for: test.origin.url("/a"))
      test.origin.script(
        "/a",
        .on(.all, .redirect(302, to: url.absoluteString + "?" + String(repeating: "x", count: 8))))
      let reply = try await test.get("/a", method: method)
      #expect(reply.status == 508)
      let log = try await test.settledLog("/a")
      #expect(log.requests.count <= 2)
    }
  }

  @Test func `CDN-Loop lists both proxies, and a loop is answered 508`() async throws {
    let server = try EchoServer()
    defer { server.stop() }
    let origin = try server.url
    try await withReverseProxy(proxy: { $0.origin = origin }) { test async throws in
      _ = try await test.connect {
        try await $0.reply(
          to: "/a", ["CDN-Loop: other; v=1", "Cache-Control: no-store"], host: test.host)
      }
      let seen = try #require(server.requests.last)
      let own = try #require(seen.field("Via")?.split(separator: " ").last)
      #expect(seen.field("CDN-Loop") == "other; v=1, \(own)")
      let reply = try await test.connect {
        try await $0.reply(to: "/a", ["CDN-Loop: x, \(own)"], host: test.host)
      }
      #expect(reply.status == 508)
    }
  }
}
