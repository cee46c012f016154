// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

/// A prefetch gives way to a player that is short of bytes, and to no other.
@Suite(.timeLimit(.minutes(1))) struct PriorityTests {
  private let length: Int64 = 8_000_003
  private let bytes = SyntheticBytes(seed: 7)

  /// Whether a prefetch waits for its turn before its request.
  private func isWaiting(_ test: TestCache, _ path: String) -> Bool {
    let entry = test.cache.table.openEntry(for: CacheKey(url: test.origin.url(path)))
    return entry?.current?.withState { $0.fetches.values.contains(where: \.isResting) } == true
  }

  @Test func `A prefetch pauses while a player's fetch runs`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/played")
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/prefetched")
      // The player's response stays open until it is released.
      test.origin.script("/played", .on(.first(1), .stall(at: .body(1000))))
      let player = try await test.reader("/played")
      defer { player.cancel() }
      // Nothing says that the player wants no more than the received bytes.
      try await #expect(player.waitUntilReadable(at: 0) == 0..<1000)
      let resource = Resource(url: test.origin.url("/prefetched"))
      let prefetch = Task { try await test.cache.prefetch(resource) }
      // The prefetch waits at the gate and sends no request.
      try await eventually("the prefetch waits") { isWaiting(test, "/prefetched") }
      #expect(test.origin.log("/prefetched").requests.isEmpty)
      test.origin.release("/played")
      _ = try await prefetch.value
      try await #expect(test.settledLog("/prefetched").distinctBytesSent == length)
    }
  }

  @Test func `A prefetch continues when a player waits for its bytes`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/played")
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/wanted")
      test.origin.script("/played", .on(.first(1), .stall(at: .body(1000))))
      let player = try await test.reader("/played")
      defer { player.cancel() }
      _ = try await player.waitUntilReadable(at: 0)
      let resource = Resource(url: test.origin.url("/wanted"))
      let prefetch = Task { try await test.cache.prefetch(resource) }
      try await eventually("the prefetch waits") { isWaiting(test, "/wanted") }
      // The response to the other player never continues.
      try await #expect(test.read("/wanted", 0..<1000) == bytes.bytes(in: 0..<1000))
      prefetch.cancel()
      _ = await prefetch.result
    }
  }

  @Test func `A player does not wait for a slow prefetch of the same resource`() async throws {
    try await withCache { test in
      var slow = OriginResource.synthetic(seed: 7, length: length)
      slow.bytesPerSecond = 500_000
      test.origin.serve(slow, at: "/a")
      let resource = Resource(url: test.origin.url("/a"))
      let prefetch = Task { try await test.cache.prefetch(resource) }
      try await test.origin.wait(for: "/a") { $0.bodyBytesSent > 100_000 }
      let far: ByteRange = 7_000_000..<7_001_000
      try await #expect(test.read("/a", far) == bytes.bytes(in: far))
      // Long before the prefetch would have reached that range.
      #expect(test.origin.log("/a").distinctBytesSent < 4_000_000)
      prefetch.cancel()
      _ = await prefetch.result
    }
  }

  @Test func `A prefetch fetches its range and reports its progress`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      let resource = Resource(url: test.origin.url("/a"))
      let last = Mutex<MediaCache.PrefetchProgress?>(nil)
      try await test.cache.prefetch(resource, range: 1000..<2_000_000) { report in
        last.withLock { $0 = report }
      }
      let log = test.origin.log("/a")
      #expect(log.sent.byteCount(in: 1000..<2_000_000) == 1_999_000)
      #expect(log.bytesSentTwice == 0 && log.distinctBytesSent < 2_100_000)
      #expect(last.withLock { $0?.storedBytes == 1_999_000 && $0?.totalBytes == 1_999_000 })
      // Few requests: their size grows as the prefetch continues.
      #expect(log.requests.count <= 12)
      try await test.cache.prefetch(resource) { report in last.withLock { $0 = report } }
      #expect(last.withLock { $0?.storedBytes == length && $0?.totalBytes == length })
      #expect(test.origin.log("/a").bytesSentTwice == 0)
      try await #expect(test.cache.completeFile(for: test.cache.key(for: resource)) != nil)
    }
  }

  @Test(arguments: [true, false])
  func `A prefetch of a range works without a declared length`(
    _ supportsRanges: Bool
  ) async throws {
    try await withCache { test in
      var resource = OriginResource.synthetic(seed: 7, length: length)
      resource.declaresLength = false
      resource.supportsRanges = supportsRanges
      test.origin.serve(resource, at: "/a")
      let asked = Resource(url: test.origin.url("/a"))
      try await test.cache.prefetch(asked, range: 1000..<500_000)
      let stored = try await test.cache.progress(of: asked)
      #expect(stored.spans.byteCount(in: 1000..<500_000) == 499_000)
      // A range past the end reveals the length.
      try await test.cache.prefetch(asked, range: 0..<length + 1000)
      try await #expect(test.cache.progress(of: asked).isComplete)
    }
  }

  @Test func `A cancelled prefetch ends and keeps the received bytes`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      test.origin.script("/a", .on(.first(1), .stall(at: .body(100_000))))
      let resource = Resource(url: test.origin.url("/a"))
      let prefetch = Task { try await test.cache.prefetch(resource) }
      let key = test.cache.key(for: resource)
      try await eventually("all has come that comes") {
        try await test.cache.entry(for: key)?.cachedBytes == 100_000
      }
      prefetch.cancel()
      await #expect(throws: CancellationError.self) { try await prefetch.value }
      try await #expect(test.cache.entry(for: key)?.cachedBytes == 100_000)
      test.origin.release("/a")
    }
  }

  // MARK: Giving way

  private func prefetchOther(_ test: TestCache) async throws {
    test.origin.serve(.synthetic(seed: 8, length: 1_000_003), at: "/other")
    try await test.cache.prefetch(Resource(url: test.origin.url("/other")))
  }

  @Test func `A playing live stream does not delay a prefetch`() async throws {
    try await withCache { test in
      test.origin.serve(.station(seed: 7), at: "/radio")
      test.origin.script("/radio", .on(.all, .stall(at: .body(200_000))))
      let radio = try await test.reader("/radio")
      defer { radio.cancel() }
      _ = try await radio.bytes(in: 0..<200_000)
      // A listener always waits for the next bytes of a live stream.
      let next = Task { try await radio.bytes(in: 200_000..<200_001) }
      try await eventually("it waits") {
        radio.generation.withState { !$0.readers.waiters.isEmpty }
      }
      try await prefetchOther(test)
      #expect(test.cache.starter.gate.isFree)
      test.origin.release("/radio")
      _ = try await next.value
    }
  }

  @Test func `A player delays a prefetch only when its read-ahead runs short`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/played")
      test.origin.script("/played", .on(.all, .stall(at: .resource(6_000_000))))
      let player = try await test.reader("/played")
      defer { player.cancel() }
      _ = try await player.play(4_000_000)
      try await eventually("it is far ahead") { player.cachedSpans.contains(4_400_000) }
      let gate = test.cache.starter.gate
      try await eventually("no player is short") { gate.isFree }
      try await prefetchOther(test)
      // The player reaches the end of the stored bytes.
      let edge = Task { try await player.bytes(in: 4_000_000..<6_000_001) }
      try await eventually("the player is short") { !gate.isFree }
      test.origin.serve(.synthetic(seed: 9, length: 1_000_003), at: "/third")
      let third = Task { try await test.cache.prefetch(Resource(url: test.origin.url("/third"))) }
      try await eventually("the prefetch waits") { isWaiting(test, "/third") }
      #expect(test.origin.log("/third").requests.isEmpty)
      test.origin.release("/played")
      _ = try await edge.value
      test.origin.script("/played", FaultScript())
      test.origin.release("/played")
      _ = try await third.value
    }
  }

  @Test func `A cancelled player no longer delays a prefetch`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/played")
      test.origin.script("/played", .on(.first(1), .stall(at: .body(1000))))
      let player = try await test.reader("/played")
      _ = try await player.waitUntilReadable(at: 0)
      let gate = test.cache.starter.gate
      try await eventually("the player is short") { !gate.isFree }
      player.cancel()
      try await eventually("its request ends") { gate.isFree }
      try await prefetchOther(test)
      test.origin.release("/played")
    }
  }

  /// A prefetch that waits for its turn may be cancelled at any moment.
  @Test func `A cancelled fetch stops waiting`() async {
    let gate = PlaybackPriority()
    gate.count(1)
    let task = Task { await gate.waitTurn { false } }
    task.cancel()
    await task.value
  }

  @Test func `A fetch that a player waits for does not pause`() async {
    let gate = PlaybackPriority()
    gate.count(1)
    await gate.waitTurn { true }
  }
}
