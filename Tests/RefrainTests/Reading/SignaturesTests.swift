// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

@testable import Refrain

/// Signed URLs of the same bytes share an entry once the origin has confirmed their validator.
@Suite(.timeLimit(.minutes(1))) struct SignaturesTests {
  private let bytes = SignedResource.bytes
  private let length = SignedResource.length
  private let old = SignedResource.old
  private let new = SignedResource.new

  private func requests(_ test: TestCache) async throws -> [LoggedRequest] {
    try await test.settledLog("/a").requests
  }

  @Test(arguments: [0, 1000])
  func `Stored bytes are used under another signature after one conditional request`(
    _ lifetime: Int
  ) async throws {
    try await withSigned(lifetime: lifetime) { test async throws in
      try await test.cache.prefetch(test.origin.url(old))
      let before = try await requests(test).count
      // The first signature has expired.
      test.origin.script(old, .on(.all, .status(403)))
      try await #expect(test.read(new) == bytes.bytes(in: 0..<length))
      let later = try await requests(test).dropFirst(before)
      #expect(later.map(\.request.target) == [new])
      #expect(later.map(\.status) == [304])
      let key = CacheKey(url: test.origin.url("/a?id=1"))
      #expect(try await test.cache.entries().map(\.key) == [key])
      if lifetime > 0 {
        try await #expect(test.read(new) == bytes.bytes(in: 0..<length))
        try await #expect(test.read(old) == bytes.bytes(in: 0..<length))
        #expect(try await requests(test).count == before + 1)
      }
      #expect(test.origin.log(old).requests.isEmpty)
    }
  }

  @Test func `A confirmed signature stays confirmed in a later process`() async throws {
    try await withSigned { test async throws in
      try await test.cache.prefetch(test.origin.url(old))
      try await #expect(test.read(new) == bytes.bytes(in: 0..<length))
      let before = try await requests(test).count
      try await test.reopened { later async throws in
        try await #expect(later.read(new) == bytes.bytes(in: 0..<length))
      }
      #expect(try await requests(test).count == before)
    }
  }

  @Test func `Missing bytes are requested with the confirmed signature`() async throws {
    try await withSigned { test async throws in
      try await test.cache.prefetch(test.origin.url(old), range: 0..<300_000)
      let before = try await requests(test).count
      test.origin.script(old, .on(.all, .status(403)))
      try await #expect(test.read(new) == bytes.bytes(in: 0..<length))
      let log = try await test.settledLog("/a")
      #expect(log.requests.dropFirst(before).allSatisfy { $0.request.target == new })
      #expect(log.bytesSentTwice == 0)
      #expect(test.origin.log(old).requests.isEmpty)
      #expect(try await test.cache.entries().count == 1)
    }
  }

  @Test func `Concurrent readers with a new signature send one conditional request`() async throws {
    try await withSigned { test async throws in
      try await test.cache.prefetch(test.origin.url(old))
      let before = try await requests(test).count
      test.origin.script("/a", .on(.all, .delay(nil)))
      async let reads: Void = concurrently(6) { _ in
        try await #expect(test.read(new) == bytes.bytes(in: 0..<length))
      }
      try await test.origin.wait(for: "/a") { $0.stalled == 1 }
      test.origin.release("/a")
      try await reads
      #expect(try await requests(test).count == before + 1)
    }
  }

  @Test func `Cancelling the only reader ends the conditional request`() async throws {
    try await withSigned { test async throws in
      try await test.cache.prefetch(test.origin.url(old))
      let before = try await requests(test).count
      test.origin.script("/a", .on(.all, .delay(nil)))
      let reading = Task { try await test.read(new) }
      try await test.origin.wait(for: "/a") { $0.stalled == 1 }
      reading.cancel()
      await #expect(throws: CancellationError.self) { try await reading.value }
      let log = try await test.settledLog("/a")
      #expect(log.requests.count == before + 1)
      test.origin.script("/a", .on(.all, .status(500)))
      try await #expect(test.read(old) == bytes.bytes(in: 0..<length))
    }
  }

  @Test func `A strong date confirms another signature`() async throws {
    let date = Date(timeIntervalSince1970: 1_600_000_000)
    try await withSigned(serving: {
      ($0.etag, $0.lastModified) = (nil, date)
    }) { test async throws in
      try await test.cache.prefetch(test.origin.url(old))
      let before = try await requests(test).count
      try await #expect(test.read(new) == bytes.bytes(in: 0..<length))
      let later = try await requests(test).dropFirst(before)
      #expect(later.map(\.status) == [206])
      #expect(later.map(\.bodyBytesSent) == [1])
      #expect(try await test.cache.entries().count == 1)
    }
  }

  @Test func `The refusal of a signature is reported, and the entry stays`() async throws {
    try await withSigned { test async throws in
      try await test.cache.prefetch(test.origin.url(old))
      let before = try await requests(test).count
      test.origin.script(new, .on(.all, .status(403)))
      await expectError(.status, status: 403) { try await test.read(new) }
      try await #expect(test.read(old) == bytes.bytes(in: 0..<length))
      #expect(try await requests(test).count == before)
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
      test.origin.script(new, .on(.all, .status(403)))
      test.origin.script(old, .on(.all, .status(403)))
      try await #expect(test.read(new) == bytes.bytes(in: 0..<length))
      let later = try await requests(test).dropFirst(before)
      #expect(later.allSatisfy { $0.request.target == renewed })
      #expect(test.origin.log(new).requests.count == 1)
      #expect(try await test.cache.entries().count == 1)
    }
  }

  @Test(arguments: ["\"x\"", "W/\"x\""])
  func `Stored bytes play with any signature while the origin cannot be asked`(
    _ etag: String
  ) async throws {
    try await withSigned(serving: {
      $0.etag = etag
    }) { test async throws in
      try await test.cache.prefetch(test.origin.url(old))
      test.origin.script(new, .on(.all, .closeWithoutAnswer))
      try await #expect(test.read(new) == bytes.bytes(in: 0..<length))
      let before = try await requests(test).count + test.origin.log(new).requests.count
      test.cache.isOffline = true
      try await #expect(test.read(new) == bytes.bytes(in: 0..<length))
      try await #expect(test.read("/a?id=1") == bytes.bytes(in: 0..<length))
      #expect(try await requests(test).count + test.origin.log(new).requests.count == before)
      // What was played without a confirmation is none.
      test.cache.isOffline = false
      test.origin.script(new, .on(.all, .status(403)))
      await #expect(throws: MediaCacheError.self) { try await test.read(new) }
    }
  }

  @Test func `Every look-up finds the entry by any of its signed URLs`() async throws {
    try await withSigned { test async throws in
      let cache = test.cache
      try await cache.prefetch(test.origin.url(old))
      let (url, before) = (test.origin.url(new), try await requests(test).count)
      #expect(await cache.entryKey(for: Resource(url: url)) == cache.key(for: Resource(url: url)))
      #expect(try await cache.entry(for: url)?.cachedBytes == length)
      #expect(try await cache.completeFile(for: url) != nil)
      #expect(try await cache.progress(of: url).isComplete)
      let amounts = try await cache.storedAmounts(of: 1) { _ in
        WantedPart(Resource(url: url), in: nil, isOfAnyRepresentation: true)
      }
      #expect(amounts.map(\.bytes) == [length])
      #expect(try await requests(test).count == before)
      try await cache.pin(url)
      #expect(try await cache.entries().map(\.isPinned) == [true])
      #expect(try await cache.unpin(url))
      #expect(try await cache.remove(url) != nil)
      #expect(try await cache.entries().isEmpty)
    }
  }
}

/// A resource at `/a`, whatever the query of the URL, and two signed URLs of it.
enum SignedResource {
  static let bytes = SyntheticBytes(seed: 9)
  static let length: Int64 = 700_001
  static let old = "/a?id=1&Expires=1&Signature=old&Key-Pair-Id=K"
  static let new = "/a?id=1&Expires=2&Signature=new&Key-Pair-Id=K"
}

/// Runs `body` with a cache whose origin serves `SignedResource`.
///
/// - Parameters:
///   - lifetime: how long it is fresh, in seconds.
///   - configure: changes the resource.
///   - change: changes the cache's configuration.
func withSigned(
  lifetime: Int = 1000, serving configure: (inout OriginResource) -> Void = { _ in },
  with change: (inout MediaCache.Configuration) -> Void = { _ in },
  _ body: (TestCache) async throws -> Void
) async throws {
  try await withCache(change) { test async throws in
    var resource = OriginResource.synthetic(seed: 9, length: SignedResource.length)
    resource.headers = [Field("Cache-Control", "max-age=\(lifetime)")]
    configure(&resource)
    test.origin.serve(resource, at: "/a")
    try await body(test)
  }
}
