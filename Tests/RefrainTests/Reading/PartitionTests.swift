// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Who receives what is stored: whoever opens a private cache, in its partition.
@Suite(.timeLimit(.minutes(1))) struct PartitionTests {
  private let length: Int64 = 100_000
  private let range: ByteRange = 0..<100_000

  private func bytes(_ seed: UInt64) -> [UInt8] { SyntheticBytes(seed: seed).bytes(in: range) }

  /// Serves other bytes to "Bearer other", and none to the unknown.
  private func serve(_ origin: OriginServer, control: String = "max-age=600") {
    var (resource, other) = (
      OriginResource.synthetic(seed: 1, length: length),
      OriginResource.synthetic(seed: 2, length: length)
    )
    resource.headers = [Field("Cache-Control", control)]
    other.headers = resource.headers
    origin.serve(resource, at: "/a")
    let known = ["Bearer one", "Bearer renewed", "Bearer other"]
    origin.script(
      "/a",
      .on(.where { !known.contains($0.headers.first("Authorization") ?? "") }, .unauthorized)
        .on(.where { $0.headers.first("Authorization") == "Bearer other" }, .answerFrom(other)))
  }

  private func resource(_ test: TestCache, _ authorization: String?, key: CacheKey? = nil)
    -> Resource
  {
    var resource = Resource(url: test.origin.url("/a"), key: key)
    resource.headers["Authorization"] = authorization
    return resource
  }

  private func read(_ cache: MediaCache, _ resource: Resource) async throws -> [UInt8] {
    let reader = try await cache.open(resource)
    defer { reader.cancel() }
    return try await Array(reader.bytes(in: range))
  }

  @Test(arguments: ["Bearer renewed", "Bearer unknown", nil])
  func `Credentials do not change what a private cache plays`(
    _ authorization: String?
  ) async throws {
    try await withCache { test async throws in
      serve(test.origin)
      #expect(try await read(test.cache, resource(test, "Bearer one")) == bytes(1))
      let before = try await test.settledLog("/a").requests.count
      #expect(try await read(test.cache, resource(test, authorization)) == bytes(1))
      #expect(try await test.settledLog("/a").requests.count == before)
      try await test.reopened({ $0.offline = true }) { later async throws in
        #expect(try await read(later.cache, resource(later, authorization)) == bytes(1))
      }
    }
  }

  @Test func `Missing bytes are requested with the newest credentials`() async throws {
    try await withCache { test async throws in
      serve(test.origin)
      try await test.cache.prefetch(resource(test, "Bearer one"), range: 0..<10_000)
      #expect(try await read(test.cache, resource(test, "Bearer renewed")) == bytes(1))
      let log = try await test.settledLog("/a")
      #expect(log.requests.last?.request.headers.first("Authorization") == "Bearer renewed")
      #expect(log.bytesSentTwice == 0)
    }
  }

  @Test func `A reader without credentials does not take those of another away`() async throws {
    try await withCache({ ($0.firstRequest, $0.maximumReadAhead) = (4096, 4096) }) {
      test async throws in
      serve(test.origin)
      let reader = try await test.cache.open(resource(test, "Bearer one"))
      defer { reader.cancel() }
      _ = try await reader.bytes(in: 0..<1000)
      let other = try await test.cache.open(resource(test, nil))
      defer { other.cancel() }
      #expect(try await Array(other.bytes(in: range)) == bytes(1))
      #expect(try await Array(reader.bytes(in: range)) == bytes(1))
    }
  }

  @Test func `Each partition has its own bytes, in later processes too`() async throws {
    try await withCache({ $0.partition = "me & mine" }) { test async throws in
      serve(test.origin)
      #expect(try await read(test.cache, resource(test, "Bearer one")) == bytes(1))
      for (partition, authorization, seed) in [
        ("you", "Bearer other", 2), ("me & mine", "Bearer one", 1), ("you", "Bearer other", 2),
      ] as [(String, String, UInt64)] {
        try await test.reopened({ $0.partition = partition }) { later async throws in
          let mine = resource(later, authorization)
          #expect(try await read(later.cache, mine) == bytes(seed))
          #expect(try await later.cache.completeFile(for: mine) != nil)
        }
      }
      #expect(try await test.settledLog("/a").requests.count == 2)
      // A stranger, of another partition, has to ask the origin.
      try await test.reopened({ $0.partition = nil }) { later async throws in
        await expectError(.status, status: 401) {
          try await read(later.cache, resource(later, nil))
        }
        #expect(try await later.cache.completeFile(for: resource(later, nil)) == nil)
      }
    }
  }

  @Test func `Removal and listing of a partition leave the others`() async throws {
    try await withCache({ $0.partition = "one" }) { test async throws in
      test.origin.serve(.synthetic(seed: 1, length: length), at: "/a")
      try await test.cache.prefetch(test.origin.url("/a"))
      try await test.reopened({ $0.partition = "two" }) { later async throws in
        #expect(try await later.cache.remove(later.origin.url("/a")) == nil)
        try await later.cache.prefetch(later.origin.url("/a"))
        #expect(try await later.cache.entries().count == 2)
        #expect(try await later.cache.remove(later.origin.url("/a")) != nil)
        let left = try await later.cache.entries()
        #expect(left.map(\.url) == [later.origin.url("/a")])
        // By the key as listed, whatever the partition.
        let key = try #require(left.first?.key)
        let reader = try await later.cache.open(key)
        defer { reader.cancel() }
        #expect(try await Array(reader.bytes(in: range)) == bytes(1))
      }
    }
  }

  @Test func `A resource with a key of its own is the same in each partition`() async throws {
    try await withCache({ $0.partition = "one" }) { test async throws in
      serve(test.origin)
      let key = CacheKey(rawValue: "song")
      #expect(try await read(test.cache, resource(test, "Bearer one", key: key)) == bytes(1))
      try await test.reopened({ $0.partition = "two" }) { later async throws in
        #expect(try await read(later.cache, resource(later, "Bearer other", key: key)) == bytes(1))
      }
      #expect(try await test.settledLog("/a").requests.count == 1)
    }
  }

  @Test(arguments: ["max-age=600", "public, max-age=600"])
  func `A shared cache gives no account what another one received`(
    _ control: String
  ) async throws {
    try await withCache({ $0.isShared = true }) { test async throws in
      serve(test.origin, control: control)
      try await concurrently(6) { index in
        let name = ["Bearer one", "Bearer other", nil][index % 3]
        do {
          let read = try await read(test.cache, resource(test, name))
          #expect(index % 3 < 2 && read == bytes(index % 3 == 0 ? 1 : 2), "\(name ?? "nobody")")
        } catch let error as MediaCacheError {
          #expect(index % 3 == 2 && error.status == 401, "\(name ?? "nobody"): \(error)")
        }
      }
      try await test.closed()
      // Without permission, nothing of it is stored (RFC 9111 §3.5).
      let isStorable = control.hasPrefix("public")
      #expect(try await test.cache.entries().count == (isStorable ? 2 : 0))
      let mine = try await test.cache.completeFile(for: resource(test, "Bearer one"))
      #expect((mine != nil) == isStorable)
      #expect(try await test.cache.completeFile(for: resource(test, nil)) == nil)
    }
  }
}
