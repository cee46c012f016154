// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Clients of a proxy that request one resource under several signatures.
@Suite(.timeLimit(.minutes(1))) struct ProxySignatureTests {
  @Test(arguments: [600, 0])
  func `A new signature costs a request only once the resource is stale`(
    _ lifetime: Int
  ) async throws {
    try await withProxy { test async throws in
      test.serve("/a", ["Cache-Control": "max-age=\(lifetime)"])
      for token in 1...3 {
        let reply = try await test.get("/a?id=1&hdnts=\(token)")
        #expect(reply.status == 200 && reply.body == Caching.bytes(1))
      }
      let log = try await test.settledLog("/a").requests
      let asked = lifetime > 0 ? 1...1 : 1...3
      #expect(log.map(\.request.target) == asked.map { "/a?id=1&hdnts=\($0)" })
      #expect(log.dropFirst().allSatisfy { $0.status == 304 })
      #expect(try await test.cache.entries().map(\.key) == [test.key("/a?id=1")])
    }
  }

  @Test func `A proxy for several people stores each signed URL by itself`() async throws {
    try await withReverseProxy { test async throws in
      test.serve("/a", ["Cache-Control": "public, max-age=600"])
      for token in [1, 2, 1, 2] {
        #expect(try await test.get("/a?hdnts=\(token)").body == Caching.bytes(1))
      }
      let log = try await test.settledLog("/a").requests
      #expect(log.map(\.request.target) == ["/a?hdnts=1", "/a?hdnts=2"])
      #expect(log.allSatisfy { $0.status == 200 || $0.status == 206 })
    }
  }
}
