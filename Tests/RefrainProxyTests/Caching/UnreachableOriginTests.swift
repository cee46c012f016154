// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Stale responses while the origin cannot be reached (RFC 9111 §4.2.4).
@Suite(.timeLimit(.minutes(2))) struct UnreachableOriginTests {
  static let served: [(fields: [String: String], isShared: Bool)] = [
    (Caching.stale(), false), (Caching.stale(), true),
    (Caching.stale(", proxy-revalidate"), false),
    ([:], false),
  ]

  @Test(arguments: served.indices)
  func `A stale response is served and marked as stale`(index: Int) async throws {
    let (fields, isShared) = Self.served[index]
    try await Caching.withEither(isShared: isShared) { test async throws in
      test.serve("/a", fields)
      #expect(try await test.get("/a").body == Caching.bytes(1))
      await test.origin.stopListening()
      for _ in 0..<2 {
        let reply = try await test.get("/a")
        #expect(reply.status == 200 && reply.body == Caching.bytes(1))
        if !fields.isEmpty {
          #expect(reply["Cache-Status"]?.contains("; ttl=-") == true, "\(reply.fields)")
        }
        let part = try await test.get("/a", ["Range: bytes=5-9"])
        #expect(part.status == 206 && part.body == Array(Caching.bytes(1)[5..<10]))
      }
    }
  }

  static let refused: [(fields: [String: String], isShared: Bool)] = [
    (Caching.stale(", must-revalidate"), false), (Caching.stale(", must-revalidate"), true),
    (Caching.stale(", proxy-revalidate"), true),
    (["Cache-Control": "s-maxage=60", "Age": "100"], true),
    (["Cache-Control": "no-cache"], false),
    // Without explicit freshness.
    (["Cache-Control": "must-revalidate"], false),
  ]

  @Test(arguments: refused.indices)
  func `A response that must be revalidated is not served without the origin`(
    index: Int
  ) async throws {
    let (fields, isShared) = Self.refused[index]
    try await Caching.withEither(isShared: isShared) { test async throws in
      test.serve("/a", fields)
      #expect(try await test.get("/a").body == Caching.bytes(1))
      await test.origin.stopListening()
      for _ in 0..<3 {
        let reply = try await test.get("/a")
        #expect(reply.status == 502 || reply.status == 504, "\(fields): \(reply.status)")
        #expect(reply["Cache-Control"] == "no-store")
      }
      try await test.origin.resumeListening()
      #expect(try await test.get("/a").body == Caching.bytes(1))
    }
  }

  @Test
  func `A no-cache request is answered with an error if the origin is unreachable`() async throws {
    try await withProxy { test async throws in
      test.serve("/a", ["Cache-Control": "max-age=600"])
      #expect(try await test.get("/a").status == 200)
      await test.origin.stopListening()
      #expect(try await test.get("/a").status == 200)
      let status = try await test.get("/a", ["Cache-Control: no-cache"]).status
      #expect([502, 504].contains(status))
    }
  }
}
