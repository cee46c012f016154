// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

@Suite(.timeLimit(.minutes(1))) struct FillPolicyTests {
  private let length: Int64 = 3_000_017
  private let bytes = SyntheticBytes(seed: 7)

  private func complete(_ test: TestCache, _ path: String) async throws {
    let key = CacheKey(url: test.origin.url(path))
    try await eventually("\(path) is complete") {
      try await test.cache.entry(for: key)?.isComplete == true
    }
  }

  @Test
  func `The wholeResource fill fetches the bytes before and behind the reader`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      let reader = try await test.reader("/a", fill: .wholeResource)
      let part: ByteRange = 1_500_000..<1_500_010
      try await #expect(Array(reader.bytes(in: part)) == bytes.bytes(in: part))
      try await complete(test, "/a")
      // Bytes of the fill that were on their way when the reader moved may add up to one chunk.
      #expect(reader.statistics.bytesFromOrigin <= length + 96 << 10)
      reader.cancel()
    }
  }

  @Test func `The wholeResource fill completes a resource without range support`() async throws {
    try await withCache { test in
      var rangeless = OriginResource.synthetic(seed: 7, length: length)
      rangeless.supportsRanges = false
      test.origin.serve(rangeless, at: "/a")
      let reader = try await test.reader("/a", fill: .wholeResource)
      try await complete(test, "/a")
      #expect(test.origin.log("/a").bytesSentTwice == 0)
      reader.cancel()
    }
  }

  @Test func `The wholeResource fill ends with its reader and keeps received bytes`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      test.origin.script("/a", .on(.all, .stall(at: .body(100))))
      let reader = try await test.reader("/a", fill: .wholeResource)
      let key = CacheKey(url: test.origin.url("/a"))
      try await eventually("all has come that comes") {
        try await test.cache.entry(for: key)?.cachedBytes == 100
      }
      reader.cancel()
      try await test.closed()
      let log = try await test.origin.wait(for: "/a") { $0.running == 0 }
      #expect(log.bodyBytesSent == 100)
      try await #expect(test.cache.entry(for: key)?.cachedBytes == 100)
    }
  }

  @Test func `The wholeResource fill completes a new version of a complete entry`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      _ = try await test.read("/a")
      test.origin.serve(.synthetic(seed: 8, length: length + 1), at: "/a")
      test.origin.script("/a", .on(.first(1), .delay(.milliseconds(50))))
      let reader = try await test.reader("/a", fill: .wholeResource)
      defer { reader.cancel() }
      _ = try await reader.bytes(in: 0..<10)
      let key = CacheKey(url: test.origin.url("/a"))
      try await eventually("the new version is complete") {
        let entry = try await test.cache.entry(for: key)
        return entry?.isComplete == true && entry?.length == length + 1
      }
    }
  }

  @Test func `The onDemand fill fetches nothing beyond the window`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      let reader = try await test.reader("/a", fill: .onDemand)
      _ = try await reader.bytes(in: 0..<10)
      try await test.origin.wait(for: "/a") { $0.running == 0 && !$0.requests.isEmpty }
      #expect(test.origin.log("/a").distinctBytesSent <= 256 << 10)
      reader.cancel()
    }
  }

  @Test func `The version after a purge is filled while readers of the one before remain`()
    async throws
  {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 1, length: 300_000), at: "/a")
      test.origin.script("/a", .on(.all, .stall(at: .body(100))))
      let early = try await test.reader("/a", fill: .wholeResource)
      try await #expect(Array(early.bytes(in: 0..<10)) == SyntheticBytes(seed: 1).bytes(in: 0..<10))
      test.origin.serve(.synthetic(seed: 2, length: 300_000), at: "/a")
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
      #expect(try await test.read("/a") == SyntheticBytes(seed: 2).bytes(in: 0..<300_000))
      // The one before is still read, from its file and from the origin's response.
      try await #expect(
        Array(early.bytes(in: 50..<100)) == SyntheticBytes(seed: 1).bytes(in: 50..<100))
      early.cancel()
      late.cancel()
      try await test.closed()
      #expect(try await test.cache.entry(for: key)?.cachedBytes == 300_000)
    }
  }
}
