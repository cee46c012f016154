// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Bytes that the origin sent for one account are given to another only with its consent.
@Suite(.timeLimit(.minutes(1))) struct AccountTests {
  private let length: Int64 = 100_000
  private let range: ByteRange = 0..<100_000

  private func bytes(_ seed: UInt64) -> [UInt8] { SyntheticBytes(seed: seed).bytes(in: range) }

  private func serve(_ test: TestCache, control: String = "max-age=600") {
    var resource = OriginResource.synthetic(seed: 1, length: length)
    resource.headers = [Field("Cache-Control", control)]
    test.origin.serve(resource, at: "/a")
    var other = OriginResource.synthetic(seed: 2, length: length)
    other.headers = resource.headers
    let known = ["Bearer one", "Bearer renewed", "Bearer other", "Basic b25lOnBhc3M="]
    test.origin.script(
      "/a",
      .on(.where { !known.contains($0.headers.first("Authorization") ?? "") }, .unauthorized)
        .on(.where { $0.headers.first("Authorization") == "Bearer other" }, .answerFrom(other)))
  }

  private func resource(_ test: TestCache, _ authorization: String?, key: String? = nil) -> Resource
  {
    var resource = Resource(url: test.origin.url("/a"), key: key.map(CacheKey.init(rawValue:)))
    resource.headers["Authorization"] = authorization
    return resource
  }

  private func read(_ cache: MediaCache, _ resource: Resource) async throws -> [UInt8] {
    let reader = try await cache.open(resource)
    defer { reader.cancel() }
    return try await Array(reader.bytes(in: range))
  }

  @Test func `Each account receives its own bytes, and both stay stored`() async throws {
    try await withCache { test async throws in
      serve(test)
      func readBoth() async throws {
        #expect(try await read(test.cache, resource(test, "Bearer one")) == bytes(1))
        #expect(try await read(test.cache, resource(test, "Bearer other")) == bytes(2))
      }
      try await readBoth()
      let before = try await test.settledLog("/a").requests.count
      for _ in 0..<3 { try await readBoth() }
      #expect(try await test.settledLog("/a").requests.count == before)
    }
  }

  @Test(arguments: ["Bearer unknown", nil])
  func `A reader refused by the origin receives no stored bytes`(
    _ authorization: String?
  ) async throws {
    try await withCache { test async throws in
      serve(test)
      #expect(try await read(test.cache, resource(test, "Bearer one")) == bytes(1))
      let stranger = resource(test, authorization)
      await expectError(.status, status: 401) { try await read(test.cache, stranger) }
      await expectError(.status, status: 401) { try await test.cache.prefetch(stranger) }
      #expect(try await read(test.cache, resource(test, "Bearer one")) == bytes(1))
    }
  }

  @Test func `A renewed token costs one revalidation, and no byte is sent twice`() async throws {
    try await withCache { test async throws in
      serve(test)
      #expect(try await read(test.cache, resource(test, "Bearer one")) == bytes(1))
      try await test.reopened { test async throws in
        let before = try await test.settledLog("/a")
        for _ in 0..<3 {
          #expect(try await read(test.cache, resource(test, "Bearer one")) == bytes(1))
        }
        #expect(try await test.settledLog("/a").requests.count == before.requests.count)
        for _ in 0..<3 {
          #expect(try await read(test.cache, resource(test, "Bearer renewed")) == bytes(1))
        }
        let log = try await test.settledLog("/a")
        #expect(log.requests.count == before.requests.count + 1)
        #expect(log.requests.last?.status == 304)
        #expect(log.bytesSentTwice == 0)
      }
    }
  }

  @Test func `A user in the URL identifies an account`() async throws {
    try await withCache { test async throws in
      serve(test)
      var parts = try #require(
        URLComponents(url: test.origin.url("/a"), resolvingAgainstBaseURL: false))
      (parts.user, parts.password) = ("one", "pass")
      let mine = Resource(url: try #require(parts.url))
      #expect(try await read(test.cache, mine) == bytes(1))
      await expectError(.status, status: 401) { try await read(test.cache, resource(test, nil)) }
      #expect(try await read(test.cache, mine) == bytes(1))
    }
  }

  @Test func `Bytes of another account do not play while the origin is unreachable`() async throws {
    try await withCache { test async throws in
      serve(test)
      #expect(try await read(test.cache, resource(test, "Bearer one")) == bytes(1))
      await test.origin.stopListening()
      await test.origin.closeConnections()
      let error = await expectError(.unreachable) {
        try await read(test.cache, resource(test, "Bearer other"))
      }
      #expect(error?.remedy.contains("key") == true)
      #expect(try await read(test.cache, resource(test, "Bearer one")) == bytes(1))
    }
  }

  @Test(arguments: ["public, max-age=600", "max-age=600, s-maxage=600"])
  func `A shareable response serves another account without a request`(
    _ control: String
  ) async throws {
    try await withCache { test async throws in
      serve(test, control: control)
      #expect(try await read(test.cache, resource(test, "Bearer one")) == bytes(1))
      let before = try await test.settledLog("/a").requests.count
      #expect(try await read(test.cache, resource(test, "Bearer other")) == bytes(1))
      #expect(try await test.settledLog("/a").requests.count == before)
    }
  }

  @Test func `Accounts that use the same key share one entry`() async throws {
    try await withCache { test async throws in
      serve(test)
      #expect(try await read(test.cache, resource(test, "Bearer one", key: "song")) == bytes(1))
      let before = try await test.settledLog("/a").requests.count
      let renewed = resource(test, "Bearer renewed", key: "song")
      #expect(try await read(test.cache, renewed) == bytes(1))
      #expect(try await test.settledLog("/a").requests.count == before)
    }
  }

  @Test func `Tokens exchanged by the authorize hook share one account`() async throws {
    let change: (inout MediaCache.Configuration) -> Void = {
      $0.authorize = { resource, _ in
        var renewed = resource
        renewed.headers["Authorization"] = "Bearer renewed"
        return renewed
      }
    }
    try await withCache(change) { test async throws in
      serve(test)
      #expect(try await read(test.cache, resource(test, "Bearer expired")) == bytes(1))
      let before = try await test.settledLog("/a").requests.count
      for authorization in ["Bearer expired", "Bearer renewed"] {
        #expect(try await read(test.cache, resource(test, authorization)) == bytes(1))
      }
      #expect(try await test.settledLog("/a").requests.count == before)
      // Another expired token is exchanged as well when the origin is asked about it.
      #expect(try await read(test.cache, resource(test, "Bearer older")) == bytes(1))
      #expect(try await test.settledLog("/a").bytesSentTwice == 0)
    }
  }

  @Test func `Concurrent accounts never receive each other's bytes`() async throws {
    try await withCache { test async throws in
      serve(test)
      try await concurrently(6) { index in
        let name = ["Bearer one", "Bearer other", "Bearer unknown"][index % 3]
        do {
          let read = try await read(test.cache, resource(test, name))
          #expect(index % 3 < 2 && read == bytes(index % 3 == 0 ? 1 : 2), "\(name)")
        } catch let error as MediaCacheError {
          // A reader waits for the account whose response came first, and may fail with it.
          #expect(error.status == 401 || error.code == .resourceChanged, "\(name): \(error)")
        }
      }
    }
  }
}
