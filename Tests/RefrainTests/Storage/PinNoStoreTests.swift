// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Lifting the pin of what the origin forbids to store: it was stored because of the pin alone.
@Suite(.timeLimit(.minutes(1))) struct PinNoStoreTests {
  private let length: Int64 = 3000

  private func serve(_ test: TestCache) -> Resource {
    var served = OriginResource.synthetic(seed: 1, length: length)
    served.headers.append(Field("Cache-Control", "no-store"))
    test.origin.serve(served, at: "/a")
    return Resource(url: test.origin.url("/a"))
  }

  /// Runs `body` with a pinned resource that is not in use.
  private func withPinned(
    _ body: (MediaCache, Resource, EntryDirectory) async throws -> Void
  ) async throws {
    try await withCache { test in
      var resource = serve(test)
      resource.policy.group = .init(first: CacheKey(url: resource.url), isKept: true)
      try await test.cache.pin(resource)
      try await test.closed()
      let stored = StoredBytes(test.directory, resource.url).directory
      #expect(stored.writtenRecord?.freshness.noStore == true)
      try await body(test.cache, resource, stored)
    }
  }

  @Test func `A resource that is stored only because of its pin is removed with it`() async throws {
    try await withPinned { cache, resource, stored async throws in
      #expect(try await cache.unpin(resource))
      #expect(SystemFiles.status(of: stored.path) == nil)
    }
  }

  @Test func `Unpinning removes it, too, where the pin was lifted before`() async throws {
    try await withPinned { cache, resource, stored async throws in
      // As a process that was killed in between.
      #expect(try stored.unpin())
      #expect(try await !cache.unpin(resource))
      #expect(SystemFiles.status(of: stored.path) == nil)
    }
  }

  @Test func `Unpinning leaves alone what is read and not stored`() async throws {
    try await withCache { test in
      let resource = serve(test)
      let reader = try await test.cache.open(resource)
      defer { reader.cancel() }
      #expect(try await reader.bytes(in: 0..<length).count == Int(length))
      #expect(try await !test.cache.unpin(resource))
      // A removal would begin another generation.
      #expect(reader.entry.current === reader.generation)
    }
  }
}
