// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// One request for a reader that continues: its cost, and its end when the reader stops, jumps or
/// leaves.
@Suite(.timeLimit(.minutes(1))) struct LongRequestTests {
  private let length: Int64 = 24 << 20
  private let bytes = SyntheticBytes(seed: 7)

  private func withLongFile(
    _ change: (inout MediaCache.Configuration) -> Void = { _ in },
    _ body: (TestCache) async throws -> Void
  ) async throws {
    let origin = try await OriginServer.start(sendBuffer: 64 << 10)
    try await withCache(origin: origin, change) { test in
      origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      try await body(test)
    }
    await origin.stop()
  }

  /// Reads chunks until `count` bytes have been received.
  private func take(
    _ count: Int64, from start: Int64, of reader: MediaReader
  ) async throws {
    var offset = start
    for try await chunk in reader.chunks(in: start..<length) {
      let range = offset..<offset + Int64(chunk.count)
      #expect(Array(chunk) == bytes.bytes(in: range))
      offset = range.upperBound
      if offset >= start + count { return }
    }
  }

  @Test func `A read to the end takes one request`() async throws {
    try await withLongFile { test in
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      try await take(length, from: 0, of: reader)
      #expect(test.origin.log("/a").requests.count == 1)
    }
  }

  @Test func `A prefetch sends one request for each hole`() async throws {
    try await withLongFile { test in
      try await test.cache.prefetch(Resource(url: test.origin.url("/a")))
      #expect(test.origin.log("/a").requests.count == 1)
      // Each hole takes one request.
      let key = CacheKey(url: test.origin.url("/a"))
      try await test.cache.remove(key)
      test.origin.resetLog("/a")
      let resource = Resource(url: test.origin.url("/a"))
      try await test.cache.prefetch(resource, range: 1_000_000..<2_000_000)
      try await test.cache.prefetch(resource)
      let log = test.origin.log("/a")
      #expect(log.requests.count == 3, "\(log.requests.map { $0.request.range ?? "all" })")
      #expect(log.bytesSentTwice == 0)
    }
  }

  @Test func `A reader that pauses keeps a bounded window and resumes its request`() async throws {
    try await withLongFile { test in
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      try await take(1 << 20, from: 0, of: reader)
      try await eventually("the request waits") {
        reader.generation.withState { $0.fetches.values.contains { $0.paused != nil } }
      }
      // A window of 1 MiB, and a chunk at either end: 960 KiB at the reader, 96 KiB at the other.
      #expect(reader.cachedSpans.byteCount <= (2 << 20) + (1056 << 10))
      try await take(length, from: 0, of: reader)
      #expect(test.origin.log("/a").requests.count == 1)
    }
  }

  @Test func `A player that reads the end and returns resumes its first request`() async throws {
    try await withLongFile({ $0.abandonedSilence = .seconds(100) }) { test in
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      // One chunk: the reader only looks at the start.
      try await take(1000, from: 0, of: reader)
      try await take(100_000, from: length - 100_000, of: reader)
      let back = try await test.reader("/a")
      defer { back.cancel() }
      try await take(length, from: 0, of: back)
      let log = try await test.settledLog("/a")
      #expect(log.requests.count == 2)
    }
  }

  @Test func `A seek after a long read ends the earlier request`() async throws {
    try await withLongFile({ $0.abandonedSilence = .seconds(100) }) { test in
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      try await take(2_000_000, from: 0, of: reader)
      let place = length - 1_000_000
      test.origin.script("/a", .on(.all, .stall(at: .resource(place + 10))))
      let next = Task { try await self.take(100_000, from: place, of: reader) }
      // The first request ends while the second is waited for.
      _ = try await test.origin.wait(for: "/a") { $0.requests.count == 2 && $0.running == 1 }
      test.origin.release("/a")
      try await next.value
    }
  }

  @Test func `A request that no reader returns to ends`() async throws {
    try await withLongFile({ $0.abandonedSilence = .milliseconds(20) }) { test in
      // Slow enough that the system's buffers do not take everything at once.
      var resource = OriginResource.synthetic(seed: 7, length: length)
      resource.bytesPerSecond = 10_000_000
      test.origin.serve(resource, at: "/a")
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      try await take(300_000, from: 0, of: reader)
      try await take(100_000, from: length - 100_000, of: reader)
      // The reader is still open; the request it left has ended.
      _ = try await test.origin.wait(for: "/a") { $0.running == 0 }
      try await take(1_000_000, from: 0, of: reader)
      reader.cancel()
      try await test.closed()
      let log = try await test.origin.wait(for: "/a") { $0.running == 0 }
      #expect(log.distinctBytesSent < length)
    }
  }

  @Test func `A reader that seeks often receives little more than it reads`() async throws {
    try await withLongFile { test in
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      let seed = TestSeed.next()
      var random = SeededGenerator(seed: seed)
      var read: Int64 = 0
      var jumps = 0
      for _ in 0..<40 {
        // Each jump goes to a place without stored bytes.
        let offset = Int64.random(in: 0..<length - (1 << 20), using: &random)
        let stored = reader.cachedSpans
        if !stored.intersection(RangeSet(offset..<offset + (512 << 10))).isEmpty { continue }
        jumps += 1
        let played = try await reader.play(256 << 10, from: offset)
        read += Int64(played.count)
        #expect(played == bytes.bytes(in: offset..<offset + Int64(played.count)))
      }
      // The first four jumps are not known to be short; bytes in socket buffers count as received.
      let log = try await test.settledLog("/a")
      #expect(
        log.bodyBytesSent <= read + 6 << 20,
        "seed \(seed): \(read) read, \(log.bodyBytesSent) received")
      #expect(log.requests.count <= jumps + 20, "seed \(seed)")
    }
  }
}
