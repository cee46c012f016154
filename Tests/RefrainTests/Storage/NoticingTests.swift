// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Entries that are held open while another process changes their files. A second cache in this
/// process stands for another process.
@Suite(.timeLimit(.minutes(1))) struct NoticingTests {
  private let length: Int64 = 300_007

  private func serve(_ seed: UInt64, _ origin: OriginServer) {
    var resource = OriginResource.synthetic(seed: seed, length: length)
    resource.headers = [Field("Cache-Control", "max-age=3600")]
    origin.serve(resource, at: "/a")
  }

  private func bytes(_ seed: UInt64) -> [UInt8] { SyntheticBytes(seed: seed).bytes(in: 0..<length) }

  /// Runs a test with a cache that holds an entry, which it has not written, and another cache.
  private func holding(
    _ body: (TestCache, EntryLease, _ other: TestCache) async throws -> Void
  ) async throws {
    try await withCache { test in
      serve(1, test.origin)
      try await #expect(test.read("/a") == bytes(1))
      try await test.reopened { test in
        try await withCache(directory: test.directory, origin: test.origin) { other in
          let reader = try await test.reader("/a")
          try await #expect([UInt8](reader.bytes(in: 0..<length)) == bytes(1))
          let lease = try #require(test.cache.hold(reader))
          reader.cancel()
          #expect(known(lease) != nil)
          test.origin.resetLog("/a")
          try await body(test, lease, other)
        }
      }
    }
  }

  private func known(_ lease: EntryLease) -> StoredResponse? {
    lease.known(.ofClient, at: lease.now)
  }

  private func key(_ test: TestCache) -> CacheKey { CacheKey(url: test.origin.url("/a")) }

  @Test func `An entry that another process removed is not served further`() async throws {
    try await holding { test, lease, other in
      let earlier = try await test.reader("/a")
      defer { earlier.cancel() }
      try await #expect([UInt8](earlier.bytes(in: 0..<10)) == [UInt8](bytes(1)[0..<10]))
      #expect(try await other.cache.remove(key(test)) != nil)
      serve(2, test.origin)
      #expect(known(lease) == nil)
      try await #expect(test.read("/a") == bytes(2))
      // A reader from before continues with the version with which it began.
      try await #expect([UInt8](earlier.bytes(in: 0..<length)) == bytes(1))
      #expect(known(lease)?.information.validator == "\"seed-2\"")
    }
  }

  @Test func `A version that another process stored is served without a request`() async throws {
    try await holding { test, lease, other in
      #expect(try await other.cache.remove(key(test)) != nil)
      serve(2, test.origin)
      try await #expect(other.read("/a") == bytes(2))
      try await other.closed()
      test.origin.resetLog("/a")
      #expect(known(lease) == nil)
      try await #expect(test.read("/a") == bytes(2))
      #expect(known(lease)?.information.validator == "\"seed-2\"")
      #expect(test.origin.log("/a").requests.isEmpty)
    }
  }
}
