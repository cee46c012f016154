// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// URLs that differ in an ignored token: one entry, and requests with the newest token.
@Suite(.timeLimit(.minutes(1))) struct ChangingTokenTests {
  private let bytes = SyntheticBytes(seed: 9)
  private let length: Int64 = 2_000_003

  private func withTokens(
    ignoring names: [String] = ["token"], lifetime: Int? = 1000,
    _ body: (TestCache) async throws -> Void
  ) async throws {
    try await withCache({ $0.cacheKey = CacheKeyRule(ignoring: names).key(for:) }) { test in
      var resource = OriginResource.synthetic(seed: 9, length: length)
      resource.headers = lifetime.map { [Field("Cache-Control", "max-age=\($0)")] } ?? []
      test.origin.serve(resource, at: "/a")
      try await body(test)
    }
  }

  @Test func `Stored bytes are read under another token without a request`() async throws {
    try await withTokens { test in
      try await test.cache.prefetch(test.origin.url("/a?token=1&b=2"))
      let before = try await test.settledLog("/a").requests.count
      try await #expect(test.read("/a?token=2&b=2") == bytes.bytes(in: 0..<length))
      try await #expect(test.read("/a?b=2") == bytes.bytes(in: 0..<length))
      let log = try await test.settledLog("/a")
      #expect(log.requests.count == before)
      let key = CacheKey(url: test.origin.url("/a?b=2"))
      #expect(try await test.cache.entries().map(\.key) == [key])
    }
  }

  @Test func `Missing bytes are requested with the newest token`() async throws {
    try await withTokens { test in
      try await test.cache.prefetch(test.origin.url("/a?token=1"), range: 0..<500_000)
      let before = try await test.settledLog("/a").requests.count
      // The first token has expired.
      test.origin.script("/a?token=1", .on(.all, .status(403)))
      try await #expect(test.read("/a?token=2") == bytes.bytes(in: 0..<length))
      let log = try await test.settledLog("/a")
      let later = log.requests.dropFirst(before)
      #expect(!later.isEmpty)
      #expect(later.allSatisfy { $0.request.target == "/a?token=2" })
      #expect(test.origin.log("/a?token=1").requests.isEmpty)
      #expect(log.bytesSentTwice == 0)
      #expect(log.distinctBytesSent == length)
      #expect(try await test.cache.entries().count == 1)
    }
  }

  @Test func `Stale bytes are confirmed with the newest token`() async throws {
    try await withTokens(lifetime: 0) { test in
      try await test.cache.prefetch(test.origin.url("/a?token=1"))
      let before = try await test.settledLog("/a").requests.count
      test.origin.script("/a?token=1", .on(.all, .status(403)))
      try await #expect(test.read("/a?token=2") == bytes.bytes(in: 0..<length))
      let log = try await test.settledLog("/a")
      let later = log.requests.dropFirst(before)
      #expect(later.map(\.request.target) == ["/a?token=2"])
      #expect(test.origin.log("/a?token=1").requests.isEmpty)
      #expect(log.bytesSentTwice == 0)
    }
  }

  @Test func `URLs that differ in another parameter have separate entries`() async throws {
    try await withTokens { test in
      try await test.cache.prefetch(test.origin.url("/a?token=1&id=1"))
      try await test.cache.prefetch(test.origin.url("/a?token=1&id=2"))
      #expect(try await test.cache.entries().count == 2)
      let log = try await test.settledLog("/a")
      #expect(log.requests.contains { $0.request.target == "/a?token=1&id=2" })
    }
  }

  @Test func `Changed bytes under a new token replace the stored ones`() async throws {
    try await withTokens(lifetime: 0) { test in
      try await test.cache.prefetch(test.origin.url("/a?token=1"))
      _ = try await test.settledLog("/a")
      test.origin.serve(.synthetic(seed: 10, length: 1000), at: "/a")
      let changed = SyntheticBytes(seed: 10).bytes(in: 0..<1000)
      try await #expect(test.read("/a?token=2") == changed)
      #expect(try await test.cache.entries().count == 1)
    }
  }
}
