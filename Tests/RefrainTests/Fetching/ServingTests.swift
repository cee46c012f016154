// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// The guarantees for servers that announce the bytes they send.
@Suite(.timeLimit(.minutes(1))) struct ServingTests {
  private let length: Int64 = 300_007

  @Test func `A reader settled on one version receives no bytes of the next`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 1, length: length), at: "/a")
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      let known = try await reader.settle()
      #expect(known.validator.etag == "\"seed-1\"")
      test.origin.serve(.synthetic(seed: 2, length: length), at: "/a")
      reader.entry.supersede(reader.generation)
      let old = SyntheticBytes(seed: 1).bytes(in: 0..<length)
      // Nothing of it may have been stored yet.
      await expectError(.resourceChanged) {
        try await #expect(Array(reader.bytes(in: 0..<100)) == Array(old[0..<100]))
        return try await reader.bytes(in: 0..<length)
      }
      let next = try await test.cache.open(
        Resource(url: test.origin.url("/a")), on: ReadTerms())
      defer { next.cancel() }
      #expect(try await next.settle().validator.etag == "\"seed-2\"")
    }
  }

  @Test func `A response that was under way during an invalidation is not fresh`() async throws {
    try await withCache { test in
      var resource = OriginResource.synthetic(seed: 1, length: length)
      resource.headers = [Field("Cache-Control", "max-age=600")]
      test.origin.serve(resource, at: "/a")
      test.origin.script("/a", .on(.first(1), .delay(nil)))
      let asked = Resource(url: test.origin.url("/a"))
      let reader = try await test.cache.open(asked, on: ReadTerms())
      defer { reader.cancel() }
      async let first = reader.settle()
      try await test.origin.wait(for: "/a") { $0.stalled == 1 }
      try await test.cache.invalidate(asked)
      test.origin.release("/a")
      #expect(try await first.freshness.isFresh(at: Date()) == false)
      let next = try await test.cache.open(asked, on: .ofClient)
      defer { next.cancel() }
      #expect(try await next.settle().freshness.isFresh(at: Date()))
    }
  }

  @Test func `An invalidation survives the replacement of its generation`() async throws {
    try await withCache { test in
      let asked = Resource(url: test.origin.url("/a"))
      test.origin.serve(.synthetic(seed: 1, length: length), at: "/a")
      let reader = try await test.cache.open(asked, on: .ofClient)
      defer { reader.cancel() }
      _ = try await reader.settle()
      try await test.cache.invalidate(asked)
      let time = reader.generation.withState(\.representation.invalidatedAt)
      #expect(time != nil)
      reader.entry.supersede(reader.generation)
      #expect(reader.entry.current?.withState(\.representation.invalidatedAt) == time)
    }
  }
}
