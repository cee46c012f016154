// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

@testable import Refrain

/// All signatures of a URL share one entry.
@Suite(.timeLimit(.minutes(1))) struct SignaturesTests {
  private let bytes = SyntheticBytes(seed: 9)
  private let length: Int64 = 700_001
  private let old = "/a?id=1&Expires=1&Signature=old&Key-Pair-Id=K"
  private let new = "/a?id=1&Expires=2&Signature=new&Key-Pair-Id=K"

  /// Runs `body` with a cache whose origin serves a resource at `/a`, whatever the query of the URL.
  private func withSigned(
    lifetime: Int = 1000, with change: (inout MediaCache.Configuration) -> Void = { _ in },
    _ body: (TestCache) async throws -> Void
  ) async throws {
    try await withCache(change) { test async throws in
      var resource = OriginResource.synthetic(seed: 9, length: length)
      resource.headers = [Field("Cache-Control", "max-age=\(lifetime)")]
      test.origin.serve(resource, at: "/a")
      try await body(test)
    }
  }

  private func requests(_ test: TestCache) async throws -> [LoggedRequest] {
    try await test.settledLog("/a").requests
  }

  @Test func `Fresh bytes play under any signature without a request`() async throws {
    try await withSigned { test async throws in
      try await test.cache.prefetch(test.origin.url(old))
      let before = try await requests(test).count
      for path in [new, old, "/a?id=1"] {
        try await #expect(test.read(path) == bytes.bytes(in: 0..<length))
      }
      try await test.reopened { later async throws in
        try await #expect(later.read(new) == bytes.bytes(in: 0..<length))
      }
      #expect(try await requests(test).count == before)
      let key = CacheKey(url: test.origin.url("/a?id=1"))
      #expect(try await test.cache.entries().map(\.key) == [key])
    }
  }

  @Test func `Stale bytes are confirmed by one request with the new signature`() async throws {
    try await withSigned(lifetime: 0) { test async throws in
      try await test.cache.prefetch(test.origin.url(old))
      let before = try await requests(test).count
      // The first signature has expired.
      test.origin.script(old, .on(.all, .status(403)))
      try await #expect(test.read(new) == bytes.bytes(in: 0..<length))
      let later = try await requests(test).dropFirst(before)
      #expect(later.map(\.request.target) == [new])
      #expect(later.map(\.status) == [304])
      #expect(test.origin.log(old).requests.isEmpty)
    }
  }

  @Test func `Missing bytes are requested with the newest signature`() async throws {
    try await withSigned { test async throws in
      try await test.cache.prefetch(test.origin.url(old), range: 0..<300_000)
      let before = try await requests(test).count
      test.origin.script(old, .on(.all, .status(403)))
      try await #expect(test.read(new) == bytes.bytes(in: 0..<length))
      let log = try await test.settledLog("/a")
      #expect(log.requests.dropFirst(before).allSatisfy { $0.request.target == new })
      #expect(log.bytesSentTwice == 0)
      #expect(test.origin.log(old).requests.isEmpty)
      try await test.closed()
      #expect(try await test.cache.entries().map(\.url) == [test.origin.url(new)])
    }
  }

  @Test func `The authorization hook renews a refused signature`() async throws {
    let renewed = "/a?id=1&Expires=3&Signature=renewed&Key-Pair-Id=K"
    try await withSigned(with: {
      $0.authorize = { resource, status in
        #expect(status == 403)
        var next = resource
        let text = resource.url.absoluteString
        next.url = try #require(
          URL(
            string: text.replacing("Expires=2", with: "Expires=3")
              .replacing("Signature=new", with: "Signature=renewed")))
        return next
      }
    }) { test async throws in
      try await test.cache.prefetch(test.origin.url(old), range: 0..<300_000)
      let before = try await requests(test).count
      for path in [new, old] { test.origin.script(path, .on(.all, .status(403))) }
      try await #expect(test.read(new) == bytes.bytes(in: 0..<length))
      let later = try await requests(test).dropFirst(before)
      #expect(later.allSatisfy { $0.request.target == renewed })
      #expect(test.origin.log(new).requests.count == 1)
      #expect(try await test.cache.entries().count == 1)
    }
  }

  @Test func `Stale bytes play with any signature while the origin cannot be asked`() async throws {
    try await withSigned(lifetime: 0) { test async throws in
      try await test.cache.prefetch(test.origin.url(old))
      test.origin.script(new, .on(.all, .closeWithoutAnswer))
      try await #expect(test.read(new) == bytes.bytes(in: 0..<length))
      test.cache.isOffline = true
      for path in [new, "/a?id=1"] {
        try await #expect(test.read(path) == bytes.bytes(in: 0..<length))
      }
    }
  }

  @Test func `Every look-up finds the entry by any of its signed URLs`() async throws {
    try await withSigned { test async throws in
      let cache = test.cache
      try await cache.prefetch(test.origin.url(old))
      let (url, before) = (test.origin.url(new), try await requests(test).count)
      #expect(try await cache.entry(for: url)?.cachedBytes == length)
      #expect(try await cache.completeFile(for: url) != nil)
      #expect(try await cache.progress(of: url).isComplete)
      let amounts = try await cache.storedAmounts(of: 1) { _ in
        (cache.key(for: Resource(url: url)), nil, nil)
      }
      #expect(amounts.map(\.bytes) == [length])
      try await cache.pin(url)
      #expect(try await cache.entries().map(\.isPinned) == [true])
      #expect(try await cache.unpin(url))
      #expect(try await requests(test).count == before)
      #expect(try await cache.remove(url) != nil)
      #expect(try await cache.entries().isEmpty)
    }
  }

  @Test(arguments: [true, false])
  func `A shared cache and the user's own rule know no signatures`(_ isShared: Bool) async throws {
    try await withSigned(with: {
      if isShared { $0.isShared = true } else { $0.cacheKey = { CacheKey(url: $0) } }
    }) { test async throws in
      for path in [old, new] { try await test.cache.prefetch(test.origin.url(path)) }
      let keys = Set(try await test.cache.entries().map(\.key))
      #expect(keys == [CacheKey(url: test.origin.url(old)), CacheKey(url: test.origin.url(new))])
    }
  }
}
