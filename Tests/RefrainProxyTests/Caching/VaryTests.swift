// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Representations of one URL (RFC 9111 §4.1).
@Suite(.timeLimit(.minutes(2))) struct VaryTests {
  private func serve(
    _ test: TestProxy, _ fields: [String: String] = ["Cache-Control": "max-age=600"],
    vary: String = "Accept-Language", from seed: UInt64 = 1
  ) {
    let fields = fields.merging(["Vary": vary]) { $1 }
    test.serve("/a", seed, fields)
    var script = FaultScript()
    for (index, language) in ["en", "de", "fr"].enumerated() {
      let other = Caching.resource(seed + UInt64(index), fields)
      script = script.on(
        .where { $0.headers.first("Accept-Language") == language }, .answerFrom(other))
    }
    test.origin.script("/a", script)
  }

  /// Requests each representation twice at the same time.
  private func expectOwn(at target: String, _ test: TestProxy) async throws {
    try await withThrowingTaskGroup { group in
      for number in 0..<6 {
        group.addTask {
          let language = ["en", "de", "fr"][number % 3]
          let reply = try await test.reply(to: target, ["Accept-Language: \(language)"])
          #expect(reply.body == Caching.bytes(UInt64(number % 3 + 1)), "\(language)")
        }
      }
      try await group.waitForAll()
    }
  }

  private func get(_ test: TestProxy, _ language: String) async throws -> Reply {
    try await test.get("/a", ["Accept-Language: \(language)"])
  }

  @Test(arguments: [false, true])
  func `Representations are stored separately, and each is reused`(isShared: Bool) async throws {
    try await Caching.withEither(isShared: isShared) { test async throws in
      serve(test)
      for _ in 0..<3 {
        for (index, language) in ["en", "de", "fr"].enumerated() {
          let reply = try await get(test, language)
          #expect(reply.body == Caching.bytes(UInt64(index + 1)), "\(language)")
          #expect(reply["Vary"] == "Accept-Language")
        }
      }
      #expect(try await test.asked("/a") <= 5)
    }
  }

  @Test
  func `Simultaneous requests for different representations receive their own`() async throws {
    try await withReverseProxy { test async throws in
      for round in 0..<10 {
        // Each has a key of its own, by the query.
        serve(test)
        let target = "/a?\(round)"
        try await expectOwn(at: target, test)
      }
    }
  }

  @Test
  func `A response that begins to vary is not served for another representation`() async throws {
    try await withReverseProxy { test async throws in
      for round in 0..<10 {
        test.serve("/a", 50, Caching.stale())
        test.origin.script("/a", .on(.all, .header("X-None", nil)))
        let target = "/a?\(round)"
        let first = try await test.reply(to: target)
        #expect(first.body == Caching.bytes(50))
        serve(test)
        try await expectOwn(at: target, test)
      }
    }
  }

  @Test
  func `A representation with additional Vary fields is selected by all of them`() async throws {
    try await withReverseProxy { test async throws in
      let plain = ["Cache-Control": "max-age=600", "Vary": "Accept-Language"]
      let further = ["Cache-Control": "max-age=600", "Vary": "Accept-Language, X-Kind"]
      test.serve("/a", 1, plain)
      test.origin.script(
        "/a",
        .on(
          .where {
            $0.headers.first("Accept-Language") == "de" && $0.headers.first("X-Kind") == "1"
          }, .answerFrom(Caching.resource(11, further))
        )
        .on(
          .where {
            $0.headers.first("Accept-Language") == "de" && $0.headers.first("X-Kind") == "2"
          }, .answerFrom(Caching.resource(12, further))))
      #expect(try await get(test, "en").body == Caching.bytes(1))
      for _ in 0..<2 {
        for kind in 1...2 as ClosedRange<UInt64> {
          let reply = try await test.get("/a", ["Accept-Language: de", "X-Kind: \(kind)"])
          #expect(reply.body == Caching.bytes(10 + kind), "\(kind)")
        }
      }
    }
  }

  @Test func `A partial response without Vary still belongs to its representation`() async throws {
    try await withProxy { test async throws in
      serve(test)
      let bytes = Caching.bytes(1)
      test.origin.script("/a", .on(.from(2), .header("Vary", nil)))
      // Only the first bytes are requested, so that another request fetches the rest.
      for range in [0..<10, 1000..<2000] as [Range<Int>] {
        let reply = try await test.get(
          "/a", ["Accept-Language: en", "Range: bytes=\(range.lowerBound)-\(range.upperBound - 1)"])
        #expect(reply.body == Array(bytes[range]))
      }
      let before = try await test.asked("/a")
      #expect(try await get(test, "en").body == bytes)
      #expect(try await test.asked("/a") == before)
    }
  }

  @Test func `A response that varies by everything is requested every time`() async throws {
    try await withProxy { test async throws in
      serve(test, vary: "*")
      for (index, language) in ["en", "de", "en", "fr"].enumerated() {
        let seed = UInt64([1, 2, 1, 3][index])
        #expect(try await get(test, language).body == Caching.bytes(seed), "\(language)")
      }
      #expect(try await test.asked("/a") >= 4)
    }
  }

  @Test
  func `A response that varies after revalidation is not served to other requests`() async throws {
    try await withProxy { test async throws in
      test.serve("/a", 1, Caching.stale())
      #expect(try await test.get("/a").body == Caching.bytes(1))
      let fields = ["Cache-Control": "max-age=600", "Vary": "Accept-Language"]
      test.serve("/a", 1, fields)
      test.origin.script(
        "/a",
        .on(
          .where { $0.headers.first("Accept-Language") == "de" },
          .answerFrom(Caching.resource(2, fields))))
      for _ in 0..<2 {
        #expect(try await get(test, "en").body == Caching.bytes(1))
        #expect(try await get(test, "de").body == Caching.bytes(2))
      }
      let before = try await test.asked("/a")
      #expect(try await get(test, "en").body == Caching.bytes(1))
      #expect(try await test.asked("/a") == before)
    }
  }
}
