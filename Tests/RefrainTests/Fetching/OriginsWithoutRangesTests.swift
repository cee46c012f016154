// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Origins that ignore Range, give no length, or end responses by closing the connection.
@Suite(.timeLimit(.minutes(1))) struct OriginsWithoutRangesTests {
  private let length: Int64 = 1_000_003
  private let bytes = SyntheticBytes(seed: 7)
  private func resource(_ change: (inout OriginResource) -> Void = { _ in }) -> OriginResource {
    var resource = OriginResource.synthetic(seed: 7, length: length)
    change(&resource)
    return resource
  }

  @Test func `A resource without range support is read at any offset`() async throws {
    try await withCache { test in
      test.origin.serve(resource { $0.supportsRanges = false }, at: "/a")
      let far: ByteRange = 900_000..<900_010
      try await #expect(test.read("/a", far) == bytes.bytes(in: far))
      try await #expect(test.read("/a", 0..<length) == bytes.bytes(in: 0..<length))
      let reader = try await test.reader("/a")
      let information = try await reader.contentInformation()
      #expect(!information.supportsRanges && information.length == length)
      reader.cancel()
    }
  }

  @Test
  func `Readers at different offsets of an origin without ranges share a response`() async throws {
    try await withCache { test in
      test.origin.serve(resource { $0.supportsRanges = false }, at: "/a")
      // The first response shows that there are no ranges.
      let first = try await test.reader("/a")
      defer { first.cancel() }
      _ = try await first.contentInformation()
      try await concurrently(8) { index in
        let start = length / 8 * Int64(index)
        try await #expect(test.read("/a", start..<length) == bytes.bytes(in: start..<length))
      }
      #expect(test.origin.log("/a").bytesSentTwice == 0)
      try await #expect(test.settledLog("/a").distinctBytesSent == length)
    }
  }

  @Test func `A read from an origin without ranges survives dropped connections`() async throws {
    try await withCache { test in
      test.origin.serve(resource { $0.supportsRanges = false }, at: "/a")
      test.origin.script(
        "/a", .on(.number(1), .drop(at: .body(300_000))).on(.number(2), .drop(at: .body(310_000))))
      try await #expect(test.read("/a") == bytes.bytes(in: 0..<length))
    }
  }

  /// The origin announces ranges and ignores them: the second request joins the first and is not
  /// repeated.
  @Test
  func `An origin that announces ranges but ignores them receives few requests`() async throws {
    try await withCache({ $0.joinPatience = .zero }) { test in
      test.origin.serve(resource(), at: "/a")
      test.origin.script(
        "/a",
        .on(.all, .ignoreRange)
          .on(.number(1), .stall(at: .body(100_000)), .dribble(bytesPerSecond: 2_000_000)))
      async let start = test.read("/a", 0..<200_000)
      try await test.origin.wait(for: "/a") { $0.stalled == 1 }
      let far: ByteRange = 900_000..<900_010
      async let other = test.read("/a", far)
      try await test.origin.wait(for: "/a") { $0.requests.count >= 2 }
      test.origin.release("/a")
      try await #expect(start == bytes.bytes(in: 0..<200_000))
      try await #expect(other == bytes.bytes(in: far))
      #expect(test.origin.log("/a").requests.count <= 5)
    }
  }

  @Test func `A read succeeds if its range is ignored once`() async throws {
    try await withCache { test in
      test.origin.serve(resource(), at: "/a")
      try await #expect(test.read("/a", 0..<100) == bytes.bytes(in: 0..<100))
      test.origin.script("/a", .on(.first(1), .ignoreRange))
      let far: ByteRange = 500_000..<600_000
      try await #expect(test.read("/a", far) == bytes.bytes(in: far))
      try await #expect(test.read("/a") == bytes.bytes(in: 0..<length))
    }
  }

  @Test(arguments: [Fault.chunked, .toTheClose])
  func `A resource without a declared length is read, and its length learned`(
    _ fault: Fault
  ) async throws {
    try await withCache { test in
      let streamed = resource {
        $0.supportsRanges = false
        $0.declaresLength = false
      }
      test.origin.serve(streamed, at: "/a")
      test.origin.script("/a", .on(.all, fault))
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      try await #expect(reader.contentInformation().length == nil)
      try await #expect(test.read("/a") == bytes.bytes(in: 0..<length))
      try await #expect(reader.contentInformation().length == length)
      #expect(test.origin.log("/a").bytesSentTwice == 0)
    }
  }

  @Test func `Ranges without a total length are read to the end of the resource`() async throws {
    try await withCache { test in
      test.origin.serve(resource { $0.declaresLength = false }, at: "/a")
      try await #expect(test.read("/a") == bytes.bytes(in: 0..<length))
      #expect(test.origin.log("/a").bytesSentTwice == 0)
    }
  }

  @Test func `A read beyond the end of a resource without a length is an error`() async throws {
    try await withCache { test in
      test.origin.serve(resource { $0.declaresLength = false }, at: "/a")
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      // The origin has ranges: it does not refuse the next one for being a range.
      try await #expect(Array(reader.bytes(in: 0..<10)) == bytes.bytes(in: 0..<10))
      await expectError(.badRange) { try await reader.waitUntilReadable(at: length + 5) }
    }
  }

  @Test func `An empty resource is read and prefetched without an error`() async throws {
    for supportsRanges in [true, false] {
      try await withCache { test in
        var empty = OriginResource.synthetic(seed: 7, length: 0)
        empty.supportsRanges = supportsRanges
        test.origin.serve(empty, at: "/a")
        try await #expect(test.read("/a").isEmpty)
        try await test.cache.prefetch(Resource(url: test.origin.url("/a")))
      }
    }
  }
}
