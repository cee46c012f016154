// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Ranges of which the origin sends a part at a time (RFC 9110 §15.3.7), while nothing can be
/// stored.
@Suite(.timeLimit(.minutes(1))) struct UnstoredRangeTests {
  @Test func `A range is complete though the origin sends less, and nothing is stored`()
    async throws
  {
    let length: Int64 = 400_000
    let bytes = SyntheticBytes(seed: 1)
    try await withProxy(cache: { $0.limit = 16 << 10 }) { test in
      test.origin.serve(.synthetic(seed: 1, length: length), at: "/a")
      test.origin.script("/a", .on(.all, .atMost(50_000)))
      for range in [1000..<300_000, 0..<length] as [Range<Int64>] {
        let reply = try await test.get(
          "/a", ["Range: bytes=\(range.lowerBound)-\(range.upperBound - 1)"])
        #expect(reply.status == 206 && reply.isComplete)
        #expect(
          reply["Content-Range"]
            == "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)")
        #expect(reply.body == bytes.bytes(in: range))
      }
      #expect(try await test.cache.entries().allSatisfy { $0.cachedBytes < length })
    }
  }
}
