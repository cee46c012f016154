// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Resources held open between requests for speed.
@Suite(.timeLimit(.minutes(2))) struct HeldResourceTests {
  private static let length: Int64 = 2 << 20

  @Test func `Resources held open do not keep the cache above its limit`() async throws {
    try await withProxy(cache: { $0.limit = 5 << 20 }) { test in
      // More than one fits beside another; all were requested a moment ago.
      for index in 0..<6 as Range<UInt64> {
        let path = "/\(index).mp3"
        test.origin.serve(.synthetic(seed: index, length: Self.length), at: path)
        let reply = try await test.get(path)
        #expect(reply.body == SyntheticBytes(seed: index).bytes(in: 0..<Self.length))
      }
      #expect(try await test.cache.usage().allocatedBytes <= 5 << 20)
    }
  }

  @Test func `A resource whose stored file was truncated is served correctly`() async throws {
    try await withProxy { test in
      let bytes = SyntheticBytes(seed: 1).bytes(in: 0..<Self.length)
      test.origin.serve(.synthetic(seed: 1, length: Self.length), at: "/a.mp3")
      for _ in 0..<2 { _ = try await test.get("/a.mp3", ["Range: bytes=0-99"]) }
      _ = try await test.get("/a.mp3")
      let file = try #require(try await test.cache.completeFile(for: test.key("/a.mp3")))
      try #require(truncate(file.path(percentEncoded: false), 1 << 20) == 0)
      for range in [1_500_000..<1_600_000, 0..<100, 0..<Int(Self.length)] {
        let reply = try await test.get(
          "/a.mp3", ["Range: bytes=\(range.lowerBound)-\(range.upperBound - 1)"])
        #expect(areEqual(reply.body, bytes[range]))
      }
    }
  }

  @Test func `A resource removed from the cache can be requested again`() async throws {
    try await withProxy { test in
      test.origin.serve(.synthetic(seed: 1, length: Self.length), at: "/a.mp3")
      for _ in 0..<2 { _ = try await test.get("/a.mp3") }
      try await test.cache.remove(test.key("/a.mp3"))
      let reply = try await test.get("/a.mp3")
      #expect(reply.body == SyntheticBytes(seed: 1).bytes(in: 0..<Self.length))
    }
  }
}
