// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// The fields by which a player describes itself and the page from which it comes: some origins
/// respond only to players that name the right page.
@Suite(.timeLimit(.minutes(2))) struct PlayerFieldTests {
  private static let player = [
    "Referer: https://site.example/watch?v=1", "Origin: https://site.example",
    "User-Agent: player/1",
  ]

  /// Serves a resource to requests with all fields of the player, and 403 to others.
  private func serveGuarded(_ test: TestProxy, _ path: String, _ fields: [String: String]) {
    test.serve(path, 1, fields)
    test.origin.script(
      path,
      .on(
        .where { request in
          !Self.player.allSatisfy { line in
            request.headers.contains { "\($0.name): \($0.value)" == line }
          }
        }, .status(403)))
  }

  private func seen(
    _ origin: OriginServer, _ path: String, _ name: String
  ) -> Set<String?> {
    Set(origin.log(path).requests.map { $0.request.headers.first(name) })
  }

  @Test(arguments: [false, true])
  func `A player's Referer, Origin and User-Agent reach the origin`(
    isReverse: Bool
  ) async throws {
    func body(_ test: TestProxy) async throws {
      serveGuarded(test, "/a", ["Cache-Control": "max-age=0"])
      serveGuarded(test, "/b", ["Cache-Control": "no-store"])
      for path in ["/a", "/b"] {
        // Missing, stored and confirmed, in part and as a whole.
        for headers in [["Range: bytes=5-9"], ["Range: bytes=0-"], [], []] {
          let reply = try await test.get(path, headers + Self.player)
          #expect(reply.status == (headers.isEmpty ? 200 : 206), "\(path) \(headers)")
        }
        #expect(seen(test.origin, path, "Origin") == ["https://site.example"])
      }
    }
    if isReverse {
      try await withReverseProxy { try await body($0) }
    } else {
      try await withProxy { try await body($0) }
    }
  }

  @Test func `A fill that goes on without its player has the player's fields`() async throws {
    try await withProxy(proxy: { settings, _ in settings.fetchesWhole = true }) { test in
      serveGuarded(test, "/a", ["Cache-Control": "max-age=600"])
      let reply = try await test.get("/a", ["Range: bytes=0-9"] + Self.player)
      #expect(reply.status == 206)
      let key = test.key("/a")
      for await progress in test.cache.progressUpdates(of: test.origin.url("/a")) {
        if progress.isComplete { break }
      }
      #expect(try await test.cache.completeFile(for: key) != nil)
      // What is stored is for all players, unless the origin says otherwise by Vary.
      #expect(try await test.get("/a").body == Caching.bytes(1))
      #expect(seen(test.origin, "/a", "User-Agent") == ["player/1"])
    }
  }

  @Test func `Pages that Vary names have responses of their own`() async throws {
    try await withProxy { test in
      test.serve("/a", 1, ["Vary": "Origin", "Cache-Control": "max-age=600"])
      test.origin.script(
        "/a",
        .on(
          .where { $0.headers.first("Origin") != nil },
          .answerFrom(
            Caching.resource(2, ["Vary": "Origin", "Cache-Control": "max-age=600"]))))
      for _ in 0..<2 {
        #expect(try await test.get("/a").body == Caching.bytes(1))
        let other = try await test.get("/a", ["Origin: https://site.example"])
        #expect(other.body == Caching.bytes(2))
      }
    }
  }

  @Test func `No origin receives a URL of the proxy`() async throws {
    try await withProxy(proxy: { settings, _ in settings.names = ["media.example"] }) { test in
      test.serve("/a", ["Cache-Control": "no-cache"])
      let own = try test.target("/page?a=b")
      let nested = "http://\(test.host)\(own)".replacing("/", with: "%2F")
      let references: [(String, String?)] = [
        ("http://\(test.host)\(own)", nil), ("http://localhost:\(test.port)\(own)", nil),
        ("https://media.example\(own)", nil), ("http://[::1]:1\(own)", nil),
        ("http://\(test.host)/", nil), ("http://\(test.host)", nil),
        ("https://site.example/watch?url=\(nested)", nil), ("\(own)", nil),
        ("https://site.example/", "https://site.example/"), ("about:blank", "about:blank"),
      ]
      for more in [[], ["Cache-Control: no-store"]] {
        for (referrer, expected) in references {
          let reply = try await test.get("/a", more + ["Referer: \(referrer)"])
          #expect(reply.status == 200)
          let sent = try #require(try await test.settledLog("/a").requests.last).request.headers
          #expect(sent.first("Referer") == expected, "\(referrer)")
          #expect(!sent.contains { $0.value.contains(test.token) })
        }
        for origin in ["http://\(test.host)", "http://localhost:\(test.port)"] {
          _ = try await test.get("/a", more + ["Origin: \(origin)"])
          let sent = try await test.settledLog("/a").requests.last
          #expect(sent?.request.headers.first("Origin") == nil)
        }
      }
    }
  }

  @Test func `A relayed request without Accept says that any type is accepted`() async throws {
    try await withProxy(proxy: { settings, _ in settings.relayedMethods = .all }) { test in
      test.serve("/a", ["Cache-Control": "no-store"])
      for method in ["GET", "POST"] {
        _ = try await test.get("/a", ["Cache-Control: no-store"], method: method)
      }
      #expect(seen(test.origin, "/a", "Accept") == ["*/*"])
      _ = try await test.get("/a", ["Cache-Control: no-store", "Accept: audio/*"])
      #expect(seen(test.origin, "/a", "Accept") == ["*/*", "audio/*"])
    }
  }

  // MARK: Streams

  private static let harmless: HeaderFields = [
    "Referer": "https://site.example/watch", "Origin": "https://site.example",
    "User-Agent": "player/1", "Accept-Language": "de",
  ]

  /// Requests a stream of two hosts, and returns the fields that each host received for its segment.
  private func fields(
    _ test: TestProxy, of player: [String], _ start: (TestProxy) throws -> String
  ) async throws -> (own: [Field], other: [Field]) {
    var sent: (own: [Field], other: [Field]) = ([], [])
    try await withOrigin { other in
      test.serve(
        "#EXTM3U\n#EXTINF:2,\ns0.ts\n#EXTINF:2,\n\(other.url("/s1.ts").absoluteString)\n",
        at: "/list.m3u8")
      test.origin.serve(.synthetic(seed: 1, length: 1000), at: "/s0.ts")
      other.serve(.synthetic(seed: 1, length: 1000), at: "/s1.ts")
      let (reply, target) = try await test.follow(try start(test), player)
      for name in ["s0.ts", "s1.ts"] {
        let part = try test.reference(reply, to: name, at: target)
        #expect(try await test.follow(part, player).0.status == 200)
      }
      sent.own = try #require(test.origin.log("/s0.ts").requests.last).request.headers
      sent.other = try #require(other.log("/s1.ts").requests.last).request.headers
    }
    return sent
  }

  @Test(arguments: [false, true])
  func `The user's harmless fields go with a stream's parts on all hosts, others with its own`(
    isOfProxy: Bool
  ) async throws {
    var headers = Self.harmless
    headers.append("Authorization", "Bearer secret")
    headers.append("X-Key", "secret")
    try await withProxy(proxy: { [headers] settings, _ in
      if isOfProxy { settings.headers = headers }
    }) { [headers] test in
      let player = ["User-Agent: Lavf/60", "Accept: */*", "Accept-Language: en"]
      let sent = try await fields(test, of: player) { test in
        guard !isOfProxy else { return try test.target("/list.m3u8") }
        let stream = Resource(url: test.origin.url("/list.m3u8"), headers: headers)
        return try test.proxy.url(for: stream).path()
      }
      for field in Self.harmless.fields {
        #expect(sent.own.first(field.name) == field.value, "\(field.name)")
        #expect(sent.other.first(field.name) == field.value, "\(field.name)")
      }
      for name in ["Authorization", "X-Key"] {
        #expect(sent.own.first(name) != nil && sent.other.first(name) == nil, "\(name)")
      }
    }
  }

  @Test func `A stream needs no session for harmless fields of the proxy`() async throws {
    try await withProxy(proxy: { settings, _ in settings.headers = Self.harmless }) { test in
      let sent = try await fields(test, of: []) { try $0.target("/list.m3u8") }
      #expect(sent.other.first("Referer") == "https://site.example/watch")
      #expect(try await test.get("/list.m3u8").status == 200)
    }
  }

  @Test func `A player's own fields go with a stream's parts on all hosts`() async throws {
    try await withProxy { test in
      let sent = try await fields(test, of: Self.player) { try $0.target("/list.m3u8") }
      for headers in [sent.own, sent.other] {
        #expect(headers.first("Referer") == "https://site.example/watch?v=1")
        #expect(headers.first("Origin") == "https://site.example")
        #expect(headers.first("User-Agent") == "player/1")
      }
    }
  }

  @Test func `The fields of an app's resource are sent for a browser's page, too`() async throws {
    try await withProxy { test in
      let page = ["Sec-Fetch-Mode: cors", "Referer: http://page.example/", "Origin: null"]
      let sent = try await fields(test, of: page) { test in
        let stream = Resource(url: test.origin.url("/list.m3u8"), headers: Self.harmless)
        return try test.proxy.url(for: stream).path()
      }
      for headers in [sent.own, sent.other] {
        #expect(headers.first("Referer") == "https://site.example/watch")
        #expect(headers.first("Origin") == "https://site.example")
      }
    }
  }
}
