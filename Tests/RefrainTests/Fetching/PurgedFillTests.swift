// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Filling an entry that is purged.
@Suite(.timeLimit(.minutes(1))) struct PurgedFillTests {
  private let length: Int64 = 300_000

  @Test func `The version after a purge is filled while readers of the one before remain`()
    async throws
  {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 1, length: length), at: "/a")
      test.origin.script("/a", .on(.all, .stall(at: .body(100))))
      let early = try await test.reader("/a", fill: .wholeResource)
      try await #expect(Array(early.bytes(in: 0..<10)) == SyntheticBytes(seed: 1).bytes(in: 0..<10))
      test.origin.serve(.synthetic(seed: 2, length: length), at: "/a")
      test.origin.script("/a", FaultScript())
      let key = CacheKey(url: test.origin.url("/a"))
      var selection = PurgeSelection()
      selection.keys = [key]
      let purged = try await test.cache.purge(selection)
      #expect(purged.entries == 1 && purged.failures.isEmpty && purged.resources == [key])
      let late = try await test.reader("/a", fill: .wholeResource)
      try await eventually("the new version is complete") {
        try await test.cache.entry(for: key)?.isComplete == true
      }
      #expect(try await test.read("/a") == SyntheticBytes(seed: 2).bytes(in: 0..<length))
      // The one before is still read, from its file and from the origin's response.
      try await #expect(
        Array(early.bytes(in: 50..<100)) == SyntheticBytes(seed: 1).bytes(in: 50..<100))
      early.cancel()
      late.cancel()
      try await eventually("the entry is closed") { test.cache.context.table.isEmpty }
      #expect(try await test.cache.entry(for: key)?.cachedBytes == length)
    }
  }
}
