// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Clients of a proxy that request one resource under several signatures.
@Suite(.timeLimit(.minutes(1))) struct ProxySignatureTests {
  private static let fresh = ["Cache-Control": "max-age=600"]

  @Test func `A new signature costs one conditional request`() async throws {
    try await withProxy { test async throws in
      test.serve("/a", Self.fresh)
      for token in 1...3 {
        for _ in 0..<3 {
          let reply = try await test.get("/a?id=1&token=\(token)")
          #expect(reply.status == 200 && reply.body == Caching.bytes(1))
        }
      }
      // An earlier signature stays confirmed.
      #expect(try await test.get("/a?id=1&token=1").body == Caching.bytes(1))
      let log = try await test.settledLog("/a").requests
      #expect(log.map(\.request.target) == (1...3).map { "/a?id=1&token=\($0)" })
      #expect(log.dropFirst().allSatisfy { $0.status == 304 })
      #expect(try await test.cache.entries().map(\.key) == [test.key("/a?id=1")])
    }
  }

  @Test func `Clients receive the content of their own signature`() async throws {
    try await withProxy { test async throws in
      test.serve("/a?token=1", 1, Self.fresh)
      test.serve("/a?token=2", 2, Self.fresh)
      for _ in 0..<3 {
        #expect(try await test.get("/a?token=1").body == Caching.bytes(1))
        let part = try await test.get("/a?token=2", ["Range: bytes=10-19"])
        #expect(part.status == 206 && part.body == Array(Caching.bytes(2)[10..<20]))
        #expect(try await test.get("/a?token=2").body == Caching.bytes(2))
      }
      #expect(try await test.cache.entries().count == 2)
    }
  }

  @Test func `A refused signature receives the refusal`() async throws {
    try await withProxy { test async throws in
      test.serve("/a", Self.fresh)
      #expect(try await test.get("/a?token=1").status == 200)
      test.origin.script("/a?token=2", .on(.all, .status(403)))
      #expect(try await test.get("/a?token=2").status == 403)
      let stored = try await test.get("/a?token=2", ["Cache-Control: only-if-cached"])
      #expect(stored.status == 504)
      #expect(try await test.get("/a?token=1").body == Caching.bytes(1))
      #expect(try await test.asked("/a") == 1)
    }
  }

  @Test func `A changed resource is not served to an earlier signature unasked`() async throws {
    try await withProxy { test async throws in
      test.serve("/a", Self.fresh)
      #expect(try await test.get("/a?token=1").body == Caching.bytes(1))
      #expect(try await test.get("/a?token=2").body == Caching.bytes(1))
      // From now on each signature selects its own content.
      test.serve("/a?token=1", 3, Self.fresh)
      test.serve("/a?token=2", 4, Self.fresh)
      let second = try await test.get("/a?token=2", ["Cache-Control: no-cache"])
      #expect(second.body == Caching.bytes(4))
      #expect(try await test.get("/a?token=1").body == Caching.bytes(3))
      #expect(try await test.get("/a?token=2").body == Caching.bytes(4))
    }
  }

  @Test func `A proxy for several people stores each signed URL by itself`() async throws {
    try await withReverseProxy { test async throws in
      test.serve("/a", ["Cache-Control": "public, max-age=600"])
      for token in [1, 2, 1, 2] {
        #expect(try await test.get("/a?token=\(token)").body == Caching.bytes(1))
      }
      let log = try await test.settledLog("/a").requests
      #expect(log.map(\.request.target) == ["/a?token=1", "/a?token=2"])
      #expect(log.allSatisfy { $0.status == 200 || $0.status == 206 })
    }
  }
}
