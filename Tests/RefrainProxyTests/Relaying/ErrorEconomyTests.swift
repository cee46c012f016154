// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// An origin's error costs it what a direct client's request costs, for all clients that wait for it.
@Suite(.timeLimit(.minutes(2))) struct ErrorEconomyTests {
  private static let fields = [
    Field("Cache-Control", "max-age=5"), Field("WWW-Authenticate", "Bearer realm=\"x\""),
    Field("X-Why", "so"),
  ]

  private static func fault(
    _ status: Int, _ body: String = "missing", _ fields: [Field] = fields
  ) -> Fault {
    .status(status, headers: fields, body: Array(body.utf8))
  }

  /// Sends the same request eight times, and releases the origin's response once all wait for it.
  private func eight(_ test: TestProxy, _ path: String) async throws -> [Reply] {
    try await withThrowingTaskGroup(of: Reply.self) { group in
      for _ in 0..<8 { group.addTask { try await test.get(path) } }
      try await waiting(8, for: path, test)
      test.origin.release(path)
      return try await group.reduce(into: []) { $0.append($1) }
    }
  }

  /// Waits until clients wait for the origin's response.
  private func waiting(_ count: Int, for path: String, _ test: TestProxy) async throws {
    try await test.origin.wait(for: path) { $0.stalled == 1 }
    let key = test.key(path)
    try await eventually("\(count) clients wait") {
      test.cache.activity().first { $0.key == key }?.readers.count == count
    }
  }

  @Test(
    arguments: ["/a.flac", "/list.m3u8", "/s1.ts"],
    [404, 400, 401, 403, 410, 418, 429, 451, 500, 501, 502, 503])
  func `An error costs one request, or one more if it may pass or be the range's, unchanged`(
    path: String, status: Int
  ) async throws {
    // Playlists are requested without a range.
    let mayBeOfRange = [400, 403, 501].contains(status) && !path.hasSuffix("m3u8")
    let mayPass = [429, 500, 502, 503].contains(status)
    let cost = mayBeOfRange || mayPass ? 2 : 1
    for isShared in [false, true] {
      try await Caching.withEither(isShared: isShared) { test async throws in
        test.origin.script(path, .on(.all, Self.fault(status)))
        let direct = try await RawConnection.open(port: test.origin.port) {
          try await $0.reply(to: path)
        }
        let before = try await test.asked(path)
        let reply = try await test.get(path)
        #expect(reply.status == direct.status && reply.status == status)
        #expect(reply.body == direct.body && reply.isComplete)
        for name in Self.fields.map(\.name) + ["Content-Type"] {
          #expect(reply[name] != nil && reply[name] == direct[name], "\(name)")
        }
        #expect(reply["Date"] != nil)
        #expect(try await test.asked(path) == before + cost)
        // The origin permits a shared cache to reuse it, unless it may be about one request alone.
        let total = isShared && ![400, 429].contains(status) ? cost : 3 * cost
        let head = try await test.get(path, method: "HEAD")
        #expect(head.status == status && head["Content-Length"] == "\(direct.body.count)")
        let part = try await test.get(path, ["Range: bytes=10-19"])
        #expect(part.status == status && part.body == direct.body)
        #expect(try await test.asked(path) == before + total)
        #expect(try await test.cache.entries().isEmpty)
      }
    }
  }

  @Test(arguments: [false, true], ["/list.m3u8", "/s1.ts"])
  func `Eight clients that wait for one error cost one request`(
    isShared: Bool, path: String
  ) async throws {
    try await Caching.withEither(isShared: isShared) { test async throws in
      test.origin.script(
        path, .on(.first(1), .delay(nil), Self.fault(404)).on(.from(2), Self.fault(404)))
      let replies = try await eight(test, path)
      #expect(replies.count == 8)
      #expect(replies.allSatisfy { $0.status == 404 && $0.text == "missing" && $0.isComplete })
      #expect(replies.allSatisfy { $0["X-Why"] == "so" })
      let collapsed = replies.count { $0["Cache-Status"]?.contains("; collapsed") == true }
      #expect(collapsed == 7)
      #expect(try await test.asked(path) == 1)
    }
  }

  @Test func `Eight clients that wait for an error that may pass cost two requests`() async throws {
    try await withProxy { test async throws in
      test.origin.script(
        "/a", .on(.first(1), .delay(nil), Self.fault(503)).on(.from(2), Self.fault(503, "busy")))
      let replies = try await eight(test, "/a")
      #expect(replies.allSatisfy { $0.status == 503 && $0.text == "busy" })
      #expect(try await test.asked("/a") == 2)
    }
  }

  @Test func `A client that asks again later has the origin asked again`() async throws {
    try await withProxy { test async throws in
      test.serve("/s1.ts", [:])
      test.origin.script("/s1.ts", .on(.first(2), Self.fault(404)))
      for _ in 0..<2 { #expect(try await test.get("/s1.ts").status == 404) }
      #expect(try await test.get("/s1.ts").body == Caching.bytes(1))
      #expect(try await test.asked("/s1.ts") == 3)
    }
  }

  @Test(arguments: ["Cookie", "Authorization"])
  func `A client never receives the error for other credentials`(name: String) async throws {
    try await withProxy { test async throws in
      test.origin.script(
        "/a",
        .on(
          .where { $0.headers.first(name) == "Basic MTox" }, .delay(nil), Self.fault(410, "one")
        ).on(.all, Self.fault(404, "other")))
      let one = Task { try await test.get("/a", ["\(name): Basic MTox"]) }
      try await waiting(1, for: "/a", test)
      let other = Task { try await test.get("/a", ["\(name): Basic Mjoy"]) }
      try await waiting(2, for: "/a", test)
      test.origin.release("/a")
      let first = try await one.value
      let second = try await other.value
      #expect(first.status == 410 && first.text == "one")
      #expect(second.status == 404 && second.text == "other")
      #expect(try await test.asked("/a") == 2)
    }
  }

  @Test func `An error that sets a cookie is for one client alone`() async throws {
    try await withReverseProxy { test async throws in
      func fault(_ number: Int) -> Fault {
        Self.fault(404, "missing", [Field("Set-Cookie", "session=\(number)")])
      }
      test.origin.script(
        "/a", .on(.first(1), .delay(nil), fault(1)).on(.number(2), fault(2)))
      let one = Task { try await test.get("/a") }
      try await waiting(1, for: "/a", test)
      let other = Task { try await test.get("/a") }
      try await waiting(2, for: "/a", test)
      test.origin.release("/a")
      let replies = [try await one.value, try await other.value]
      #expect(replies.allSatisfy { $0.status == 404 })
      #expect(Set(replies.map { $0["Set-Cookie"] }) == ["session=1", "session=2"])
    }
  }

  @Test(arguments: [64 << 10, 64 << 10 + 1, 5 << 20])
  func `A long body costs one request`(length: Int) async throws {
    try await withProxy { test async throws in
      let body = SyntheticBytes(seed: 1).bytes(in: 0..<Int64(length))
      test.origin.script("/a", .on(.all, .status(404, headers: [], body: body)))
      let reply = try await test.get("/a")
      #expect(reply.status == 404 && reply.body == body && reply.isComplete)
      #expect(try await test.asked("/a") == 1)
    }
  }

  @Test func `A long body that stalls ends for its client too`() async throws {
    try await withProxy(cache: { $0.silenceTimeout = .milliseconds(300) }) { test async throws in
      let body = SyntheticBytes(seed: 1).bytes(in: 0..<300_000)
      test.origin.script(
        "/a", .on(.all, .status(404, headers: [], body: body), .stall(at: .body(200_000))))
      let reply = try await test.get("/a")
      #expect(reply.status == 404 && !reply.isComplete)
      #expect(reply.body == Array(body.prefix(reply.body.count)))
      #expect(try await test.settledLog("/a").requests.count == 1)
    }
  }

  @Test func `A long body ends with the client that it was for`() async throws {
    try await withProxy { test async throws in
      let body = SyntheticBytes(seed: 1).bytes(in: 0..<300_000)
      test.origin.script(
        "/a", .on(.all, .status(404, headers: [], body: body), .stall(at: .body(200_000))))
      try await test.onSocket { client in
        try client.send(try test.request(for: "/a"))
        _ = try client.receiveHead()
        _ = try client.receive(exactly: 150_000)
        client.reset()
      }
      // Waits until the origin has noticed.
      #expect(try await test.settledLog("/a").requests.count == 1)
    }
  }

  @Test func `An error in place of a confirmation costs one request`() async throws {
    try await withProxy { test async throws in
      test.serve("/a", Caching.stale())
      #expect(try await test.get("/a").body == Caching.bytes(1))
      test.origin.script("/a", .on(.all, Self.fault(404)))
      let reply = try await test.get("/a")
      #expect(reply.status == 404 && reply.text == "missing")
      #expect(try await test.asked("/a") == 2)
    }
  }

  @Test func `A signature that the origin refuses costs one request`() async throws {
    try await withProxy { test async throws in
      test.serve("/b", Caching.stale())
      #expect(try await test.get("/b?hdnts=1").status == 200)
      test.origin.script("/b?hdnts=2", .on(.all, Self.fault(403)))
      let expired = try await test.get("/b?hdnts=2")
      #expect(expired.status == 403 && expired.text == "missing")
      #expect(try await test.asked("/b?hdnts=2") == 1)
    }
  }
}
