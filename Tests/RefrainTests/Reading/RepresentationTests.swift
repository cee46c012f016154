// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Representations of one URL (RFC 9111 §4.1), for users of the cache's own API.
@Suite(.timeLimit(.minutes(1))) struct RepresentationTests {
  private let length: Int64 = 100_000

  private func bytes(_ seed: UInt64) -> [UInt8] { SyntheticBytes(seed: seed).bytes(in: 0..<length) }

  private func variant(_ seed: UInt64, _ type: String) -> OriginResource {
    var resource = OriginResource.synthetic(seed: seed, length: length)
    resource.contentType = type
    resource.headers = [Field("Vary", "Accept"), Field("Cache-Control", "max-age=600")]
    return resource
  }

  private func serve(_ test: TestCache) {
    test.origin.serve(variant(1, "audio/flac"), at: "/a")
    test.origin.script(
      "/a",
      .on(
        .where { $0.headers.first("Accept") == "audio/mpeg" },
        .answerFrom(variant(2, "audio/mpeg"))))
  }

  private func resource(_ test: TestCache, _ type: String) -> Resource {
    Resource(url: test.origin.url("/a"), headers: ["Accept": type])
  }

  @Test func `Each reader receives the representation that its headers select`() async throws {
    try await withCache { test async throws in
      serve(test)
      for _ in 0..<2 {
        for (seed, type) in [(1, "audio/flac"), (2, "audio/mpeg")] as [(UInt64, String)] {
          let reader = try await test.cache.open(resource(test, type))
          defer { reader.cancel() }
          #expect(try await reader.contentInformation().mimeType == type)
          #expect(try await Array(reader.bytes(in: 0..<length)) == bytes(seed))
        }
      }
      // One reader requests only the first of the two: its response shows that there are two.
      #expect(try await test.settledLog("/a").bytesSentTwice == 0)
    }
  }

  @Test func `Concurrent readers each receive the representation they select`() async throws {
    try await withCache { test async throws in
      serve(test)
      test.origin.script(
        "/a",
        .on(
          .where { $0.headers.first("Accept") == "audio/mpeg" },
          .answerFrom(variant(2, "audio/mpeg"))
        ).on(.all, .delay(.milliseconds(20))))
      try await concurrently(6) { index in
        let type = index % 2 == 0 ? "audio/flac" : "audio/mpeg"
        let reader = try await test.cache.open(resource(test, type))
        defer { reader.cancel() }
        let isRight = try await Array(reader.bytes(in: 0..<length)) == bytes(index % 2 == 0 ? 1 : 2)
        #expect(isRight, "\(type)")
      }
    }
  }

  @Test func `A reader that is about to wait asks with its own headers`() async throws {
    try await withCache { test async throws in
      serve(test)
      let flac = try await test.cache.open(resource(test, "audio/flac"))
      defer { flac.cancel() }
      let (generation, id) = try flac.current()
      guard case .wait = generation.withState({ $0.lookUp(id, at: 0, count: 1) }) else {
        Issue.record("Nothing is there to read.")
        return
      }
      let mpeg = try await test.cache.open(resource(test, "audio/mpeg"))
      defer { mpeg.cancel() }
      for (seed, reader) in [(1, flac), (2, mpeg)] as [(UInt64, MediaReader)] {
        let isRight = try await Array(reader.bytes(in: 0..<length)) == bytes(seed)
        #expect(isRight)
      }
    }
  }

  @Test
  func `Prefetch and lookup keep representations apart, and removal removes all`() async throws {
    try await withCache { test async throws in
      serve(test)
      let (flac, mpeg) = (resource(test, "audio/flac"), resource(test, "audio/mpeg"))
      try await test.cache.prefetch(flac)
      // The other representation is known to exist, and nothing else.
      #expect(try await test.cache.progress(of: mpeg).storedBytes == 0)
      #expect(try await test.cache.completeFile(for: mpeg) == nil)
      try await test.cache.prefetch(mpeg)
      for (seed, resource) in [(1, flac), (2, mpeg)] as [(UInt64, Resource)] {
        #expect(try await test.cache.progress(of: resource).isComplete)
        let file = try #require(try await test.cache.completeFile(for: resource))
        #expect(try Array(Data(contentsOf: file)) == bytes(seed))
      }
      #expect(try await test.cache.entries().count == 2)
      #expect(try await test.cache.remove(test.cache.key(for: flac)) != nil)
      #expect(try await test.cache.entries().isEmpty)
    }
  }
}
