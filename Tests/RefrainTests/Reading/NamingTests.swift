// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// A URL, a resource and a key name the same entry.
@Suite(.timeLimit(.minutes(1))) struct NamingTests {
  private let bytes = SyntheticBytes(seed: 5)
  private let length: Int64 = 200_000

  @Test func `A URL, a resource and a key name the same entry`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 5, length: length), at: "/a.mp3")
      let (cache, url) = (test.cache, test.origin.url("/a.mp3"))
      let (resource, key) = (Resource(url: url), CacheKey(url: url))
      try await cache.prefetch(url, range: 0..<1000)
      #expect(try await cache.progress(of: url).storedBytes >= 1000)
      #expect(try await cache.progress(of: url) == cache.progress(of: resource))
      #expect(try await cache.progress(of: url) == cache.progress(of: key))
      #expect(try await cache.completeFile(for: url) == nil)
      try await cache.prefetch(key)
      let file = try #require(try await cache.completeFile(for: url))
      #expect(try await cache.completeFile(for: resource) == file)
      #expect(try await cache.completeFile(for: key) == file)
      #expect(try await cache.entry(for: url)?.file == file)
      for reader in [
        try await cache.open(url), try await cache.open(resource), try await cache.open(key),
      ] {
        #expect(try await reader.bytes(in: 0..<length) == Data(bytes.bytes(in: 0..<length)))
        reader.cancel()
      }
      let log = try await test.settledLog("/a.mp3")
      #expect(log.bytesSentTwice == 0)
      try await eventually("no reader holds it") { try await cache.remove(url) != nil }
      #expect(try await cache.remove(resource) == nil)
      #expect(try await cache.entry(for: key) == nil)
    }
  }

  @Test func `A key opens its entry whatever request headers the response varies by`() async throws
  {
    try await withCache { test in
      var resource = OriginResource.synthetic(seed: 5, length: length)
      resource.headers = [Field("Vary", "Accept-Language")]
      test.origin.serve(resource, at: "/a.mp3")
      let german = Resource(
        url: test.origin.url("/a.mp3"), headers: ["Accept-Language": "de"])
      try await test.cache.prefetch(german)
      test.cache.isOffline = true
      for entry in try await test.cache.entries() {
        let reader = try await test.cache.open(entry.key)
        #expect(try await reader.bytes(in: 0..<length) == Data(bytes.bytes(in: 0..<length)))
        reader.cancel()
      }
    }
  }

  @Test func `A key under which nothing is stored cannot be opened`() async throws {
    try await withCache { test in
      let key = CacheKey(rawValue: "nothing")
      await expectError(.badURL) { try await test.cache.open(key) }
    }
  }

  @Test func `A second reader stays with the version of the first`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 5, length: length), at: "/a.mp3")
      let first = try await test.reader("/a.mp3")
      #expect(try await first.bytes(in: 0..<1000) == Data(bytes.bytes(in: 0..<1000)))
      let second = try first.another()
      first.cancel()
      #expect(try await second.bytes(in: 0..<length) == Data(bytes.bytes(in: 0..<length)))
      #expect(throws: CancellationError.self) { _ = try first.another() }
      second.cancel()
    }
  }
}
