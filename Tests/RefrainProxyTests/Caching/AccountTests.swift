// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Clients of a private proxy that send different credentials.
@Suite(.timeLimit(.minutes(1))) struct ProxyAccountTests {
  @Test func `Unauthorized clients do not receive a response stored for others`() async throws {
    try await withProxy { test async throws in
      test.serve("/a", ["Cache-Control": "max-age=600"])
      test.origin.script(
        "/a",
        .on(
          .where { !["Bearer 1", "Bearer 2"].contains($0.headers.first("Authorization") ?? "") },
          .unauthorized))
      for _ in 0..<2 {
        let mine = try await test.get("/a", ["Authorization: Bearer 1"])
        #expect(mine.status == 200 && mine.body == Caching.bytes(1))
        #expect(try await test.get("/a").status == 401)
        #expect(try await test.get("/a", ["Authorization: Bearer 3"]).status == 401)
        let stored = try await test.get(
          "/a", ["Authorization: Bearer 3", "Cache-Control: only-if-cached"])
        #expect(stored.status == 504)
      }
      let renewed = try await test.get("/a", ["Authorization: Bearer 2"])
      #expect(renewed.status == 200 && renewed.body == Caching.bytes(1))
      #expect(try await test.settledLog("/a").bytesSentTwice == 0)
    }
  }
}
