// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

@testable import Refrain

/// Stored bytes, compared with the origin's.
@Suite(.timeLimit(.minutes(2)))
struct OriginComparisonTests {
  private let length: Int64 = 700_000

  /// Stores a resource whole, flips a byte of its file at offset `flip`, and runs `body`.
  private func withStored(
    etag: String? = "\"one\"", flip: Int64? = nil,
    _ body: (TestCache, Resource, OriginResource) async throws -> Void
  ) async throws {
    try await withCache { test in
      var origin = OriginResource.synthetic(seed: 7, length: length)
      (origin.etag, origin.lastModified) = (etag, nil)
      test.origin.serve(origin, at: "/a")
      let resource = Resource(url: test.origin.url("/a"))
      _ = try await test.cache.prefetch(resource)
      try await eventually("the entry is closed") {
        try await test.cache.entry(for: test.cache.key(for: resource))?.isInUse == false
      }
      if let flip {
        let entry = try #require(try await test.cache.entry(for: test.cache.key(for: resource)))
        let file = try FileHandle(forUpdating: entry.file)
        try file.seek(toOffset: UInt64(flip))
        let byte = try #require(try file.read(upToCount: 1)?.first)
        try file.seek(toOffset: UInt64(flip))
        try file.write(contentsOf: Data([~byte]))
        try file.close()
      }
      try await body(test, resource, origin)
    }
  }

  @Test func `A comparison with identical bytes finds no damage`() async throws {
    try await withStored { test, resource, _ in
      let comparison = try #require(try await test.cache.compareWithOrigin(resource))
      #expect(comparison.comparedBytes == length)
      #expect(comparison.damaged.isEmpty && comparison.obstacle == nil)
      let entry = try await test.cache.entry(for: test.cache.key(for: resource))
      #expect(entry?.isComplete == true)
    }
  }

  @Test func `A flipped byte is found, dropped, and fetched again`() async throws {
    try await withStored(flip: 300_000) { test, resource, origin in
      #expect(try await test.cache.verify().allSatisfy { $0.problems.isEmpty })
      let comparison = try #require(try await test.cache.compareWithOrigin(resource))
      #expect(comparison.damaged == RangeSet(262_144..<327_680))
      let key = test.cache.key(for: resource)
      let entry = try #require(try await test.cache.entry(for: key))
      #expect(entry.spans == RangeSet([0..<262_144, 327_680..<length]))
      #expect(try await test.read("/a") == SyntheticBytes(seed: 7).bytes(in: 0..<length))
    }
  }

  @Test func `A new version at the origin is not reported as damage`() async throws {
    try await withStored { test, resource, origin in
      var changed = OriginResource.synthetic(seed: 8, length: length)
      (changed.etag, changed.lastModified) = ("\"two\"", nil)
      test.origin.serve(changed, at: "/a")
      let comparison = try #require(try await test.cache.compareWithOrigin(resource))
      #expect(comparison.obstacle?.code == .resourceChanged)
      #expect(comparison.damaged.isEmpty && comparison.comparedBytes == 0)
      let entry = try await test.cache.entry(for: test.cache.key(for: resource))
      #expect(entry?.isComplete == true)
    }
  }

  @Test func `Without a validator, a difference drops the whole entry`() async throws {
    try await withStored(etag: nil, flip: 10) { test, resource, _ in
      let comparison = try #require(try await test.cache.compareWithOrigin(resource))
      #expect(comparison.damaged == RangeSet(0..<length))
      let entry = try await test.cache.entry(for: test.cache.key(for: resource))
      #expect(entry?.cachedBytes == 0)
    }
  }

  @Test func `A 404 from the origin is reported as an obstacle, not as damage`() async throws {
    try await withStored(flip: 10) { test, resource, _ in
      test.origin.script("/a", .on(.all, .status(404)))
      let comparison = try #require(try await test.cache.compareWithOrigin(resource))
      #expect(comparison.obstacle?.status == 404)
      #expect(comparison.damaged.isEmpty)
    }
  }

  @Test func `A resource that is not stored is not compared`() async throws {
    try await withCache { test in
      let resource = Resource(url: test.origin.url("/a"))
      let comparison = try await test.cache.compareWithOrigin(resource)
      #expect(comparison == nil)
      #expect(test.origin.log("/a").requests.isEmpty)
    }
  }
}
