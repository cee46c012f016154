// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

@testable import Refrain

/// Signatures that select content of their own, and caches in which signatures share nothing.
@Suite(.timeLimit(.minutes(1))) struct SignaturesApartTests {
  private let bytes = SignedResource.bytes
  private let length = SignedResource.length
  private let old = SignedResource.old
  private let new = SignedResource.new

  private func requests(_ test: TestCache) async throws -> [LoggedRequest] {
    try await test.settledLog("/a").requests
  }

  @Test func `Other content under another signature has an entry of its own`() async throws {
    try await withSigned { test async throws in
      var other = OriginResource.synthetic(seed: 10, length: length)
      other.headers = [Field("Cache-Control", "max-age=1000")]
      test.origin.serve(other, at: new)
      let others = SyntheticBytes(seed: 10)
      try await test.cache.prefetch(test.origin.url(old))
      try await #expect(test.read(new) == others.bytes(in: 0..<length))
      let keys = Set(try await test.cache.entries().map(\.key))
      #expect(
        keys == [CacheKey(url: test.origin.url("/a?id=1")), CacheKey(url: test.origin.url(new))])
      let (mine, theirs) = (test.origin.url(old), test.origin.url(new))
      #expect(await test.cache.entryKey(for: Resource(url: mine)) != CacheKey(url: mine))
      #expect(await test.cache.entryKey(for: Resource(url: theirs)) == CacheKey(url: theirs))
      // Neither displaces the other, and a later process remembers both.
      let (first, second) = (try await requests(test).count, test.origin.log(new).requests.count)
      try await #expect(test.read(old) == bytes.bytes(in: 0..<length))
      try await #expect(test.read(new) == others.bytes(in: 0..<length))
      try await test.reopened { later async throws in
        try await #expect(later.read(new) == others.bytes(in: 0..<length))
        try await #expect(later.read(old) == bytes.bytes(in: 0..<length))
        #expect(try await later.cache.remove(later.origin.url(new)) != nil)
        #expect(try await later.cache.entries().map(\.key).count == 1)
        try await #expect(later.read(old) == bytes.bytes(in: 0..<length))
      }
      #expect(try await requests(test).count == first)
      #expect(test.origin.log(new).requests.count == second)
    }
  }

  @Test func `An older date is no confirmation`() async throws {
    let date = Date(timeIntervalSince1970: 1_600_000_000)
    try await withSigned(serving: {
      ($0.etag, $0.lastModified) = (nil, date)
    }) { test async throws in
      var other = OriginResource.synthetic(seed: 10, length: length)
      (other.etag, other.lastModified) = (nil, date - 1000)
      test.origin.serve(other, at: new)
      try await test.cache.prefetch(test.origin.url(old))
      try await #expect(test.read(new) == SyntheticBytes(seed: 10).bytes(in: 0..<length))
      #expect(try await test.cache.entries().count == 2)
    }
  }

  @Test(arguments: [("\"x\"", "W/\"x\""), ("W/\"x\"", "W/\"x\""), ("W/\"x\"", "\"x\""), ("", "")])
  func `Content without a common strong validator is stored separately`(
    _ first: String, _ second: String
  ) async throws {
    try await withSigned(serving: {
      $0.etag = first.isEmpty ? nil : first
    }) { test async throws in
      var other = OriginResource.synthetic(seed: 10, length: length)
      other.etag = second.isEmpty ? nil : second
      test.origin.serve(other, at: new)
      try await test.cache.prefetch(test.origin.url(old))
      try await #expect(test.read(new) == SyntheticBytes(seed: 10).bytes(in: 0..<length))
      try await #expect(test.read(old) == bytes.bytes(in: 0..<length))
      #expect(try await test.cache.entries().count == 2)
    }
  }

  @Test func `A URL without a signature is confirmed like another one`() async throws {
    try await withSigned { test async throws in
      test.origin.serve(.synthetic(seed: 10, length: length), at: "/a?id=1")
      try await test.cache.prefetch(test.origin.url(old))
      try await #expect(test.read("/a?id=1") == SyntheticBytes(seed: 10).bytes(in: 0..<length))
      try await #expect(test.read(old) == bytes.bytes(in: 0..<length))
      #expect(try await test.cache.entries().count == 2)
    }
  }

  @Test func `Entries under whole keys are found`() async throws {
    try await withSigned(with: { $0.cacheKey = { CacheKey(url: $0) } }) { test async throws in
      try await test.cache.prefetch(test.origin.url(old))
      let keys = try await test.cache.entries().map(\.key.rawValue)
      #expect(keys.first?.contains("old") == true)
      let before = try await requests(test).count
      try await test.reopened { later async throws in
        #expect(try await later.cache.completeFile(for: later.origin.url(old)) != nil)
        try await #expect(later.read(old) == bytes.bytes(in: 0..<length))
        #expect(try await requests(later).count == before)
        // Another signature does not find it: nothing leads from one whole key to another.
        try await #expect(later.read(new) == bytes.bytes(in: 0..<length))
        #expect(try await later.cache.entries().count == 2)
      }
    }
  }

  @Test(arguments: [true, false])
  func `A shared cache and the user's own rule know no signatures`(_ isShared: Bool) async throws {
    try await withSigned(with: {
      if isShared { $0.isShared = true } else { $0.cacheKey = { CacheKey(url: $0) } }
    }) { test async throws in
      try await test.cache.prefetch(test.origin.url(old))
      try await test.cache.prefetch(test.origin.url(new))
      let keys = Set(try await test.cache.entries().map(\.key))
      #expect(keys == [CacheKey(url: test.origin.url(old)), CacheKey(url: test.origin.url(new))])
    }
  }

  @Test func `Concurrent readers receive the content of their own signature`() async throws {
    let seed = TestSeed.next()
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let length: Int64 = 90_000
    try await withCache { test async throws in
      for token in 0..<12 {
        var resource = OriginResource.synthetic(seed: UInt64(token % 3), length: length)
        resource.headers = [Field("Cache-Control", "max-age=\(token % 2 * 1000)")]
        if token % 4 == 3 { resource.etag = "W/\"seed\"" }
        test.origin.serve(resource, at: "/r?token=\(token)")
      }
      for _ in 0..<4 {
        let tokens = (0..<12).map { _ in Int.random(in: 0..<12, using: &random) }
        let ranges = tokens.map { _ in
          let from = Int64.random(in: 0..<length, using: &random)
          return from..<Int64.random(in: from...length, using: &random)
        }
        try await concurrently(tokens.count) { number in
          let (token, range) = (tokens[number], ranges[number])
          let wanted = SyntheticBytes(seed: UInt64(token % 3)).bytes(in: range)
          for _ in 0..<20 {
            do {
              let read = try await test.read("/r?token=\(token)", range)
              #expect(read == wanted, "seed \(seed)")
              return
            } catch let error as MediaCacheError where error.code == .resourceChanged {
              // Another request was answered meanwhile: opened again.
            }
          }
          Issue.record("seed \(seed): \(token) changed each time")
        }
      }
    }
  }
}
