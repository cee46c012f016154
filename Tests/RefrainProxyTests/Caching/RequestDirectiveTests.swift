// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// The client's cache directives (RFC 9111 §5.2.1).
@Suite(.timeLimit(.minutes(2))) struct RequestDirectiveTests {
  static let cases: [(String, stored: [String: String], asks: Bool)] = [
    ("Cache-Control: no-cache", ["Cache-Control": "max-age=600"], true),
    ("Pragma: no-cache", ["Cache-Control": "max-age=600"], false),
    ("Cache-Control: max-age=0", ["Cache-Control": "max-age=600"], true),
    ("Cache-Control: max-age=50", ["Cache-Control": "max-age=600", "Age": "100"], true),
    ("Cache-Control: max-age=150", ["Cache-Control": "max-age=600", "Age": "100"], false),
    ("Cache-Control: min-fresh=550", ["Cache-Control": "max-age=600", "Age": "100"], true),
    ("Cache-Control: min-fresh=400", ["Cache-Control": "max-age=600", "Age": "100"], false),
    ("Cache-Control: max-stale", Caching.stale(), false),
    ("Cache-Control: max-stale=100", Caching.stale(), false),
    ("Cache-Control: max-stale=10", Caching.stale(), true),
    ("Cache-Control: max-stale", Caching.stale(", must-revalidate"), true),
    ("Cache-Control: max-age=0", ["Last-Modified": HTTPDate.format(Date() - 864_000)], true),
    ("Cache-Control: max-age=0", [:], true),
    // The first of contradicting ones.
    ("Cache-Control: max-age=150, max-age=50", aged, false),
    ("Cache-Control: min-fresh=550, min-fresh=400", aged, true),
    ("Cache-Control: min-fresh=\"550\"", aged, true),
    ("Cache-Control: max-stale=10, max-stale", Caching.stale(), true),
    ("Cache-Control: No-Cache, x=\"a,no-x\"", aged, true),
    // Invalid ones are ignored.
    ("Cache-Control: max-age, max-age=-1, max-age=x, min-fresh, x=\"no-cache, a", aged, false),
    ("Cache-Control: max-stale=x", Caching.stale(), true),
    ("Cache-Control: max-age=99999999999999999999", aged, false),
  ]
  private static let aged = ["Cache-Control": "max-age=600", "Age": "100"]

  @Test(arguments: cases.indices)
  func `Request directives decide whether the origin is contacted`(index: Int) async throws {
    let (directive, fields, asks) = Self.cases[index]
    try await withProxy { test async throws in
      test.serve("/a", fields)
      _ = try await test.get("/a")
      let before = try await test.asked("/a")
      let reply = try await test.get("/a", [directive])
      #expect(reply.status == 200 && reply.body == Caching.bytes(1), "\(directive) \(fields)")
      #expect(try await test.asked("/a") == before + (asks ? 1 : 0), "\(directive) \(fields)")
    }
  }

  @Test func `An only-if-cached request is answered from the cache or with 504`() async throws {
    try await withProxy { test async throws in
      test.serve("/a", ["Cache-Control": "max-age=600"])
      for more in ["", ", no-store"] {
        let reply = try await test.get("/a", ["Cache-Control: only-if-cached\(more)"])
        #expect(reply.status == 504, "\(more)")
      }
      #expect(try await test.asked("/a") == 0)
      #expect(try await test.get("/a", ["Range: bytes=0-9"]).status == 206)
      let part = try await test.get(
        "/a", ["Range: bytes=2-5", "Cache-Control: only-if-cached"])
      #expect(part.status == 206)
    }
  }

  @Test func `An only-if-cached request for an uncacheable resource is not relayed`() async throws {
    try await withReverseProxy { test async throws in
      test.serve("/a", ["Cache-Control": "private"])
      #expect(try await test.get("/a").status == 200)
      let before = try await test.asked("/a")
      #expect(try await test.get("/a", ["Cache-Control: only-if-cached"]).status == 504)
      #expect(try await test.asked("/a") == before)
    }
  }

  @Test func `The response to a no-store request is not stored`() async throws {
    try await withProxy { test async throws in
      test.serve("/a", ["Cache-Control": "max-age=600"])
      #expect(try await test.get("/a", ["Cache-Control: no-store"]).body == Caching.bytes(1))
      #expect(
        try await test.get("/a", ["Cache-Control: only-if-cached"]).status == 504)
    }
  }

  @Test func `A Content-Length of 0 is not treated as a body`() async throws {
    try await withProxy { test async throws in
      test.serve("/a", ["Cache-Control": "max-age=600"])
      for _ in 0..<2 {
        #expect(try await test.get("/a", ["Content-Length: 0"]).body == Caching.bytes(1))
      }
    }
  }
}
