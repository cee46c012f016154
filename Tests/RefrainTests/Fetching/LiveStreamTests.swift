// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain
@testable import TestSupport

/// Streams without an end: their bytes pass through, and a stream that breaks off is over.
@Suite(.timeLimit(.minutes(2))) struct LiveStreamTests {
  private let bytes = SyntheticBytes(seed: 7)

  /// A station that does not identify itself: no length, no validator, no ranges.
  private func anonymous(_ seed: UInt64, _ length: Int64 = .max) -> OriginResource {
    OriginResource(
      .synthetic(seed: seed, length: length), contentType: "audio/mpeg", supportsRanges: false,
      declaresLength: false)
  }

  private func allocated(_ test: TestCache) async throws -> Int64 {
    try await test.cache.usage().allocatedBytes
  }

  /// Reads in pieces and compares them: the test's memory does not grow either.
  private func check(
    _ reader: MediaReader, _ range: ByteRange, piece: Int64 = 1 << 20
  ) async throws {
    for start in stride(from: range.lowerBound, to: range.upperBound, by: Int(piece)) {
      let part = start..<min(start + piece, range.upperBound)
      let isSame = try await Array(reader.bytes(in: part)) == bytes.bytes(in: part)
      #expect(isSame)
    }
  }

  @Test(arguments: [true, false])
  func `A long live stream takes bounded memory and no disk space`(
    _ forbidsStoring: Bool
  ) async throws {
    try await withCache { test in
      var station = OriginResource.station(seed: 7)
      if !forbidsStoring { station.headers.removeAll { $0.name == "Cache-Control" } }
      test.origin.serve(station, at: "/radio")
      let before = try await allocated(test)
      let reader = try await test.reader("/radio", fill: .wholeResource)
      var most: Int64 = 0
      for start in stride(from: Int64(0), to: 32 << 20, by: 1 << 20) {
        try await check(reader, start..<start + 1 << 20)
        most = max(most, reader.generation.withState { $0.transient.spans.byteCount })
      }
      // The window on both sides of the reader, and a chunk at either end.
      #expect(most <= 3 << 20)
      #expect(test.origin.log("/radio").requests.count <= 2)
      try await #expect(allocated(test) == before)
      try await #expect(test.cache.entries().isEmpty)
      reader.cancel()
    }
  }

  @Test func `A reader that stops reading pauses the fetch of a live stream`() async throws {
    let origin = try await OriginServer.start(sendBuffer: 64 << 10)
    try await withCache(origin: origin) { test in
      test.origin.serve(.station(seed: 7), at: "/radio")
      let reader = try await test.reader("/radio")
      defer { reader.cancel() }
      try await check(reader, 0..<100_000)
      let generation = reader.generation
      try await eventually("the fetch rests") {
        generation.withState { $0.fetches.values.contains { $0.paused != nil } }
      }
      #expect(generation.withState { $0.transient.liveEnd ?? 0 } < 4 << 20)
      try await check(reader, 100_000..<8 << 20)
    }
    await origin.stop()
  }

  @Test func `A live stream is not replayed from the cache`() async throws {
    func check(_ test: TestCache) async throws {
      for path in ["/radio", "/anonymous"] {
        func serve(_ seed: UInt64) {
          test.origin.serve(path == "/radio" ? .station(seed: seed) : anonymous(seed), at: path)
        }
        serve(7)
        let first = try await test.reader(path)
        try await self.check(first, 0..<300_000)
        let entry = first.generation.entry
        first.cancel()
        // The station continues at another place.
        serve(8)
        try await eventually("the entry is closed") { entry.current == nil }
        try await #expect(test.cache.entries().isEmpty)
        let bytes = SyntheticBytes(seed: 8)
        try await #expect(test.read(path, 0..<300_000) == bytes.bytes(in: 0..<300_000))
      }
    }
    try await withCache { test in
      try await check(test)
      try await test.reopened({ $0.trustStored = true }) { try await check($0) }
    }
  }

  @Test func `A live stream left on disk by a killed process is not replayed`() async throws {
    let copy = TestCache.temporaryDirectory()
    try await withCache { test in
      test.origin.serve(anonymous(7), at: "/anonymous")
      let reader = try await test.reader("/anonymous")
      defer { reader.cancel() }
      try await check(reader, 0..<300_000)
      // A copy of the directory in the middle of the stream.
      try FileManager.default.copyItem(at: test.directory, to: copy)
      try await withCache(directory: copy, origin: test.origin, { $0.offline = true }) { later in
        try await #expect(later.cache.entries().count == 1)
        await expectError(.offline) { try await later.read("/anonymous", 0..<10) }
      }
      let next = SyntheticBytes(seed: 8)
      test.origin.serve(anonymous(8), at: "/anonymous")
      try await withCache(directory: copy, origin: test.origin, { $0.trustStored = true }) {
        try await #expect($0.read("/anonymous", 0..<100_000) == next.bytes(in: 0..<100_000))
      }
    }
    try FileManager.default.removeItem(at: copy)
  }

  @Test func `A stream without a length takes at most a quarter of the limit`() async throws {
    try await withCache({ $0.limit = 16 << 20 }) { test in
      test.origin.serve(.synthetic(seed: 1, length: 4 << 20), at: "/song")
      try await test.cache.prefetch(Resource(url: test.origin.url("/song")))
      test.origin.serve(anonymous(7), at: "/anonymous")
      let reader = try await test.reader("/anonymous")
      try await check(reader, 0..<24 << 20)
      #expect(reader.cachedSpans.byteCount <= 4 << 20)
      // The song was worth keeping and is stored.
      try await #expect(test.cache.entry(for: CacheKey(url: test.origin.url("/song"))) != nil)
      // Its start is stored, too, for readers that come in the meantime.
      try await check(reader, 0..<1 << 20)
      reader.cancel()
    }
  }

  @Test func `A stream without a length that ends cleanly is stored`() async throws {
    try await withCache { test in
      test.origin.serve(anonymous(7, 300_007), at: "/a")
      try await #expect(test.read("/a") == bytes.bytes(in: 0..<300_007))
      try await eventually("it is stored") {
        try await test.cache.entries().map(\.isComplete) == [true]
      }
    }
  }

  // MARK: Breaking off

  @Test(arguments: [false, true], [nil, Fault.toTheClose])
  func `A live stream that breaks off ends its readers without a retry`(
    _ isReset: Bool, _ framing: Fault?
  ) async throws {
    try await withCache { test in
      test.origin.serve(.station(seed: 7), at: "/radio")
      test.origin.script(
        "/radio",
        .on(
          .number(1),
          [framing, .stall(at: .body(400_000)), .drop(at: .body(400_000), reset: isReset)]
            .compactMap { $0 }
        ).on(.from(2), .answerFrom(.station(seed: 8))))
      let reader = try await test.reader("/radio")
      defer { reader.cancel() }
      try await check(reader, 0..<400_000)
      let beyond = Task { try await reader.bytes(in: 400_000..<400_001) }
      try await eventually("it waits") {
        reader.generation.withState { !$0.readers.waiters.isEmpty }
      }
      test.origin.release("/radio")
      await expectError(.resourceChanged) { try await beyond.value }
      #expect(test.origin.log("/radio").requests.count == 1)
      // A reader opened again begins with the current bytes of the stream.
      let next = SyntheticBytes(seed: 8)
      try await #expect(test.read("/radio", 0..<100_000) == next.bytes(in: 0..<100_000))
    }
  }

  /// The stream has no identity: bytes that come again are compared with the stored ones.
  @Test func `An anonymous stream that breaks off never continues with other bytes`() async throws {
    // By then all received bytes are stored, or some, or none.
    for (limit, control) in [(nil, "no-cache"), (400_000, "no-cache"), (Int64?.none, "no-store")] {
      try await withCache({ $0.limit = limit }) { test in
        var stream = anonymous(7)
        stream.headers = [Field("Cache-Control", control)]
        test.origin.serve(stream, at: "/anonymous")
        test.origin.script(
          "/anonymous",
          .on(.number(1), .stall(at: .body(1_400_000)), .drop(at: .body(1_400_000)))
            .on(.from(2), .answerFrom(anonymous(8))))
        let reader = try await test.reader("/anonymous")
        defer { reader.cancel() }
        // Bytes sent just before a connection breaks off may be lost with it.
        try await check(reader, 0..<1_400_000)
        test.origin.release("/anonymous")
        await expectError(.resourceChanged) { try await reader.bytes(in: 1_400_000..<1_400_001) }
      }
    }
  }

  @Test func `A live stream that is unreachable after a break is reported as such`() async throws {
    try await withCache { test in
      test.origin.serve(.station(seed: 7), at: "/radio")
      let reader = try await test.reader("/radio")
      try await check(reader, 0..<100_000)
      await test.origin.stopListening()
      await expectError(.resourceChanged) {
        for try await _ in reader.chunks(in: 100_000..<Int64.max) {}
      }
      reader.cancel()
      await expectError(.unreachable) { try await test.read("/radio", 0..<10) }
      try await test.origin.resumeListening()
      try await #expect(test.read("/radio", 0..<10) == bytes.bytes(in: 0..<10))
    }
  }

  // MARK: Several readers, and other places

  @Test
  func `A later reader receives the current stream and does not disturb the first`() async throws {
    try await withCache { test in
      test.origin.serve(.station(seed: 7), at: "/radio")
      test.origin.script("/radio", .on(.number(2), .answerFrom(.station(seed: 8))))
      let first = try await test.reader("/radio")
      try await check(first, 0..<5 << 20)
      let second = try await test.reader("/radio")
      let other = SyntheticBytes(seed: 8)
      for start in stride(from: Int64(0), to: 4 << 20, by: 1 << 20) {
        let part = start..<start + 1 << 20
        let isSame = try await Array(second.bytes(in: part)) == other.bytes(in: part)
        #expect(isSame)
        try await check(first, part.lowerBound + 5 << 20..<part.upperBound + 5 << 20)
      }
      #expect(test.origin.log("/radio").requests.count == 2)
      // Closing ends both.
      await test.cache.close()
      for reader in [first, second] {
        await expectError(.closed) { try await reader.bytes(in: 20 << 20..<21 << 20) }
      }
    }
  }

  @Test func `A reader that joins early shares the request of a live stream`() async throws {
    try await withCache { test in
      test.origin.serve(.station(seed: 7), at: "/radio")
      let first = try await test.reader("/radio")
      defer { first.cancel() }
      try await check(first, 0..<1000)
      let second = try await test.reader("/radio")
      defer { second.cancel() }
      try await check(second, 0..<50_000)
      #expect(test.origin.log("/radio").requests.count == 1)
    }
  }

  @Test func `A read of past or distant bytes of a live stream is an error`() async throws {
    try await withCache { test in
      test.origin.serve(.station(seed: 7), at: "/radio")
      let reader = try await test.reader("/radio")
      defer { reader.cancel() }
      try await check(reader, 0..<5 << 20)
      for offset: Int64 in [0, 1 << 20, 10 << 20, 1 << 40] {
        await expectError(.badRange) { try await reader.bytes(in: offset..<offset + 10) }
      }
      #expect(test.origin.log("/radio").requests.count == 1)
      // The same for a first read.
      await expectError(.badRange) { try await test.read("/radio", 1 << 40..<1 << 40 + 10) }
      // A small step forward is allowed, and the reader continues from its place.
      let end = reader.generation.withState { $0.transient.liveEnd ?? 0 }
      try await check(reader, end + 50_000..<end + 200_000)
    }
  }

  @Test func `A prefetch of a live stream reports that it cannot be stored`() async throws {
    try await withCache { test in
      test.origin.serve(.station(seed: 7), at: "/radio")
      let reader = try await test.reader("/radio")
      defer { reader.cancel() }
      for range: ByteRange in [0..<1000, 1000..<3 << 20] {
        try await check(reader, range)
        await expectError(.storage) {
          try await test.cache.prefetch(Resource(url: test.origin.url("/radio")))
        }
      }
      try await check(reader, 3 << 20..<4 << 20)
    }
  }

  /// Some servers cut ranges out of the bytes they play at that moment.
  @Test func `A live stream that answers a range is requested again without one`() async throws {
    try await withCache { test in
      var station = OriginResource.station(
        seed: 7, interleaving: Interleaving(interval: 16_000, titles: [2: "A - B"]))
      station.supportsRanges = true
      test.origin.serve(station, at: "/radio")
      let reader = try await test.cache.open(
        Resource(url: test.origin.url("/radio"), headers: ["Icy-MetaData": "1"]))
      defer { reader.cancel() }
      try await check(reader, 0..<3 << 20)
      #expect(reader.streamTitle(at: .max)?.title == "A - B")
      let requests = test.origin.log("/radio").requests
      #expect(requests.map(\.status) == [206, 200])
      try await #expect(!reader.contentInformation().supportsRanges)
    }
  }
}
