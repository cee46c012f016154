// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Several processes may use one directory. A second cache in this process stands for another
/// process: the locks belong to an open file and not to a process.
@Suite(.timeLimit(.minutes(1)))
struct SharedDirectoryTests {
  private let length: Int64 = 9_000_037
  private let bytes = SyntheticBytes(seed: 1)

  private func withTwoCaches(
    etag: String? = "\"seed-1\"",
    _ body: (URL, OriginServer, MediaCache, MediaCache) async throws -> Void
  ) async throws {
    try await withCache { test in
      var resource = OriginResource.synthetic(seed: 1, length: length)
      resource.etag = etag
      resource.headers.append(Field("Cache-Control", "max-age=3600"))
      test.origin.serve(resource, at: "/a.wav")
      let second = try MediaCache(directory: test.directory, configuration: test.configuration)
      try await body(test.directory, test.origin, test.cache, second)
      await second.close()
    }
  }

  private func dataFiles(_ directory: URL, _ url: URL) -> [String] {
    SystemFiles.names(in: StoredBytes(directory, url).directory.path).filter {
      $0.hasSuffix(".wav")
    }
  }

  @Test func `Two caches read one cold resource and one of them stores it`() async throws {
    try await withTwoCaches { directory, origin, first, second in
      let url = origin.url("/a.wav")
      let readers = [try await first.open(url), try await second.open(url)]
      try await concurrently(2) { number in
        let all = try await readers[number].bytes(in: 0..<length)
        #expect([UInt8](all) == bytes.bytes(in: 0..<length))
      }
      #expect(dataFiles(directory, url).count == 1)
      for reader in readers { reader.cancel() }
      await first.close()
      await second.close()
      #expect(try StoredBytes(directory, url).spans() == RangeSet(0..<length))
      #expect(try StoredBytes(directory, url).firstWrongByte(bytes) == nil)
      #expect(dataFiles(directory, url).count == 1)
    }
  }

  @Test func `A version that the origin has replaced is outdated once its entry is closed`()
    async throws
  {
    let directory = CacheDirectory(length: 100_000)
    try await directory.fill(["a"])
    try await directory.withCache { cache in
      let reader = try await cache.open(directory.url())
      try await directory.expectToPlay(from: reader)
      reader.entry.supersede(reader.generation)
      reader.cancel()
      try await eventually("the entry is closed") { cache.table.isEmpty }
      let stored = try directory.stored().directory
      #expect(stored.writtenRecord?.freshness.isOutdated == true)
      #expect(!WriterLock.isHeld(stored))
    }
  }

  @Test func `A refreshed record keeps what another cache has recorded meanwhile`() async throws {
    let directory = CacheDirectory(length: 2_000_000)
    try await directory.withCache({ $0.isShared = true }) { cache in
      try await cache.prefetch(directory.url(), range: 0..<100_000)
    }
    let stored = try directory.stored().directory
    var record = try #require(stored.writtenRecord)
    #expect(record.isSharable)
    // As from an origin that has not sent the length yet.
    record.length = nil
    try stored.write(record, durably: false)
    try await directory.withCache({ $0.isShared = true }) { cache in
      let reader = try await cache.open(directory.url(), fill: .onDemand)
      #expect(reader.cachedSpans.contains(0))
      // A cache for one person stores the rest.
      try await directory.withCache { try await $0.prefetch(directory.url()) }
      #expect(reader.generation.withState(\.length) == nil)
      // As a confirmation by the origin does.
      reader.generation.withState { $0.storage.noteRecordStale() }
      reader.cancel()
      try await eventually("the entry is closed") { cache.table.isEmpty }
      let refreshed = try #require(stored.writtenRecord)
      #expect(refreshed.generation == record.generation)
      #expect(!refreshed.isSharable)
      #expect(refreshed.length == directory.length)
    }
  }

  @Test func `The second cache stores after the first has closed`() async throws {
    try await withTwoCaches { directory, origin, first, second in
      let url = origin.url("/a.wav")
      let writer = try await first.open(url)
      _ = try await writer.bytes(in: 0..<1_000_000)
      let reader = try await second.open(url)
      // The second does not fetch bytes that the first has stored.
      origin.resetLog("/a.wav")
      try await #expect([UInt8](reader.bytes(in: 0..<1_000_000)) == bytes.bytes(in: 0..<1_000_000))
      // Except for the last bytes, which may not be in the file yet.
      #expect(origin.log("/a.wav").sent.intersection(RangeSet(0..<700_000)).isEmpty)
      // The rest is fetched, and not stored.
      try await #expect(
        [UInt8](reader.bytes(in: 3_000_000..<3_100_000)) == bytes.bytes(in: 3_000_000..<3_100_000))
      #expect(!reader.isStoring)
      writer.cancel()
      await first.close()
      let before = try StoredBytes(directory, url).spans()
      // A pause has to pass before the second tries again.
      try await reader.readUntilStoring(in: 1_500_000..<8_500_000)
      try await #expect([UInt8](reader.bytes(in: 0..<length)) == bytes.bytes(in: 0..<length))
      reader.cancel()
      await second.close()
      let stored = try StoredBytes(directory, url).spans()
      #expect(before.subtracting(stored).isEmpty)
      #expect(try StoredBytes(directory, url).firstWrongByte(bytes) == nil)
    }
  }

  /// The second cache had no record when it began. A weak validator does not vouch for every byte,
  /// but bytes stored under it are still useful.
  @Test(arguments: ["\"1\"", "W/\"1\""])
  func `A second writer keeps the bytes that the first has stored`(_ etag: String) async throws {
    try await withTwoCaches(etag: etag) { directory, origin, first, second in
      let url = origin.url("/a.wav")
      // The second knows the resource, and nothing is stored yet.
      let reader = try await second.open(url)
      let writer = try await first.open(url)
      _ = try await writer.bytes(in: 0..<2_000_000)
      writer.cancel()
      await first.close()
      let before = try StoredBytes(directory, url).spans()
      #expect(before.byteCount >= 2_000_000)
      _ = try await reader.bytes(in: 3_000_000..<3_000_100)
      #expect(reader.isStoring)
      reader.cancel()
      await second.close()
      let after = try StoredBytes(directory, url).spans()
      #expect(before.subtracting(after).isEmpty && after.contains(3_000_000))
      #expect(try StoredBytes(directory, url).firstWrongByte(bytes) == nil)
    }
  }

  @Test func `Bytes stored without a validator are not replaced by a second cache`() async throws {
    try await withTwoCaches(etag: nil) { directory, origin, first, second in
      let url = origin.url("/a.wav")
      let reader = try await second.open(url)
      let writer = try await first.open(url)
      _ = try await writer.bytes(in: 0..<2_000_000)
      writer.cancel()
      await first.close()
      let before = try StoredBytes(directory, url).spans()
      let read = try await reader.bytes(in: 3_000_000..<3_000_100)
      #expect([UInt8](read) == bytes.bytes(in: 3_000_000..<3_000_100))
      reader.cancel()
      await second.close()
      #expect(before.subtracting(try StoredBytes(directory, url).spans()).isEmpty)
    }
  }

  @Test func `Entries are listed while another cache writes`() async throws {
    try await withTwoCaches { _, origin, first, second in
      let url = origin.url("/a.wav")
      let writer = try await first.open(url)
      _ = try await writer.bytes(in: 0..<1_000_000)
      // Bytes are readable a moment before they are recorded.
      try await eventually("the other sees what is stored") {
        try await second.entries().first?.cachedBytes ?? 0 >= 1_000_000
      }
      let entries = try await second.entries()
      #expect(entries.map(\.key) == [CacheKey(url: url)])
      #expect(entries.first?.isInUse == true)
      #expect(try await second.completeFile(for: CacheKey(url: url)) == nil)
      #expect(try await second.usage().entries == 1)
      #expect(try await second.verify().allSatisfy { $0.problems.isEmpty })
      try await #expect([UInt8](writer.bytes(in: 0..<length)) == bytes.bytes(in: 0..<length))
      #expect(writer.statistics.bytesFromOrigin == length)
      writer.cancel()
    }
  }

  @Test func `Listing never keeps another cache from storing`() async throws {
    try await withTwoCaches { _, origin, first, second in
      let listing = Task {
        while !Task.isCancelled { _ = try await second.entries() }
      }
      for index in 0..<20 {
        let path = "/\(index).wav"
        origin.serve(.synthetic(seed: 1, length: 50_000), at: path)
        try await first.prefetch(Resource(url: origin.url(path)))
        #expect(try await first.completeFile(for: CacheKey(url: origin.url(path))) != nil)
      }
      listing.cancel()
      _ = try? await listing.value
    }
  }

  @Test func `A small entry held open becomes visible to another cache`() async throws {
    try await withTwoCaches { _, origin, first, second in
      origin.serve(.synthetic(seed: 1, length: 5000), at: "/small.wav")
      let key = CacheKey(url: origin.url("/small.wav"))
      let reader = try await first.open(Resource(url: origin.url("/small.wav")))
      _ = try await reader.bytes(in: 0..<5000)
      try await eventually("the bytes are recorded") {
        try await second.entry(for: key)?.isComplete == true
      }
      reader.cancel()
    }
  }

  @Test func `An entry that another cache writes is not removed`() async throws {
    try await withTwoCaches { directory, origin, first, second in
      let url = origin.url("/a.wav")
      let key = CacheKey(url: url)
      let writer = try await first.open(url)
      _ = try await writer.bytes(in: 0..<1_000_000)
      await expectError(.inUse) { try await second.remove(key) }
      #expect(try await second.removeAll() == 0)
      try await #expect([UInt8](writer.bytes(in: 0..<length)) == bytes.bytes(in: 0..<length))
      writer.cancel()
      await first.close()
      #expect(try await second.remove(key) ?? 0 > length - 1)
      #expect(try await second.entries().isEmpty)
    }
  }

  @Test func `An entry can be removed as soon as its reader is cancelled`() async throws {
    try await withTwoCaches { _, origin, first, _ in
      for _ in 0..<20 {
        let reader = try await first.open(Resource(url: origin.url("/a.wav")))
        _ = try await reader.bytes(in: 0..<300_000)
        reader.cancel()
        #expect(try await first.remove(CacheKey(url: origin.url("/a.wav"))) != nil)
      }
    }
  }

  @Test func `Room is made beside what another cache reads, without a warning`() async throws {
    try await withCache({ $0.limit = 8 << 20 }) { test in
      for number in 0..<12 {
        test.origin.serve(.synthetic(seed: UInt64(number), length: 2 << 20), at: "/\(number).wav")
      }
      let events = test.cache.events(includingTraffic: false)
      _ = try await test.read("/0.wav")
      try await eventually("it is closed") { test.cache.table.isEmpty }
      let other = try MediaCache(directory: test.directory, configuration: test.configuration)
      let reader = try await other.open(test.origin.url("/0.wav"))
      _ = try await reader.bytes(in: 0..<1000)
      // The oldest entry stays, since it is read; the others take turns.
      for number in 1..<12 {
        try await test.cache.prefetch(Resource(url: test.origin.url("/\(number).wav")))
      }
      test.origin.resetLog("/0.wav")
      try await #expect(reader.bytes(in: 0..<2 << 20).count == 2 << 20)
      #expect(test.origin.log("/0.wav").sent.isEmpty)
      reader.cancel()
      await other.close()
      // It can go as soon as nobody reads it.
      #expect(await test.cache.setLimit(64 << 10))
      await test.cache.close()
      var warnings: [String] = []
      for await event in events {
        if case .warning(let text) = event { warnings.append(text) }
      }
      #expect(warnings.isEmpty)
    }
  }

  @Test func `After a writing process is killed, another process stores the rest`() async throws {
    try await withTwoCaches { directory, origin, first, _ in
      let url = origin.url("/a.wav")
      let child = try await HoldingProcess.start(directory, url)
      await expectError(.inUse) { try await first.remove(url) }
      let reader = try await first.open(url)
      try await #expect(
        [UInt8](reader.bytes(in: 0..<2_000_000)) == bytes.bytes(in: 0..<2_000_000))
      #expect(!reader.isStoring)
      try await child.kill()
      try await reader.readUntilStoring(in: 2_000_000..<length)
      try await #expect([UInt8](reader.bytes(in: 0..<length)) == bytes.bytes(in: 0..<length))
      reader.cancel()
      try await first.prefetch(url)
      await first.close()
      #expect(try StoredBytes(directory, url).spans() == RangeSet(0..<length))
      #expect(try StoredBytes(directory, url).firstWrongByte(bytes) == nil)
    }
  }

  @Test
  func `A prefetch fails while another cache writes, and fetches the rest afterwards`()
    async throws
  {
    try await withTwoCaches { directory, origin, first, second in
      let url = origin.url("/a.wav")
      let writer = try await first.open(url)
      _ = try await writer.bytes(in: 0..<500_000)
      let log = try await origin.wait(for: "/a.wav") { $0.running == 0 }
      let error = await expectError(.inUse) { try await second.prefetch(url) }
      #expect(error?.reason.contains("Another process") == true)
      // Nothing was requested that could not be stored.
      #expect(origin.log("/a.wav").requests.count == log.requests.count)
      writer.cancel()
      await first.close()
      _ = try await second.prefetch(url)
      let all = try await origin.wait(for: "/a.wav") { $0.running == 0 }
      #expect(all.bytesSentTwice == 0)
      #expect(try StoredBytes(directory, url).firstWrongByte(bytes) == nil)
      #expect(try await second.completeFile(for: CacheKey(url: url)) != nil)
    }
  }

  @Test func `A prefetch continues where a killed process stopped`() async throws {
    try await withTwoCaches { directory, origin, first, _ in
      let url = origin.url("/a.wav")
      let child = try await HoldingProcess.start(directory, url)
      await expectError(.inUse) { try await first.prefetch(url) }
      try await child.kill()
      _ = try await first.prefetch(url)
      let log = try await origin.wait(for: "/a.wav") { $0.running == 0 }
      #expect(log.bytesSentTwice <= 256 << 10)
      await first.close()
      #expect(try StoredBytes(directory, url).spans() == RangeSet(0..<length))
      #expect(try StoredBytes(directory, url).firstWrongByte(bytes) == nil)
    }
  }

  @Test func `Concurrent prefetches without a validator end, and one stores all`() async throws {
    try await withTwoCaches(etag: nil) { directory, origin, first, second in
      let url = origin.url("/a.wav")
      try await concurrently(2) { number in
        do {
          try await [first, second][number].prefetch(url)
        } catch let error as MediaCacheError where error.code == .inUse {
          // The other one stores it.
        }
      }
      try await first.prefetch(url)
      await first.close()
      await second.close()
      #expect(try StoredBytes(directory, url).spans() == RangeSet(0..<length))
      #expect(try StoredBytes(directory, url).firstWrongByte(bytes) == nil)
    }
  }

  @Test func `A whole-resource reader fills the rest once the other writer has ended`()
    async throws
  {
    try await withTwoCaches { directory, origin, first, second in
      let url = origin.url("/a.wav")
      let writer = try await first.open(url)
      _ = try await writer.bytes(in: 0..<500_000)
      _ = try await origin.wait(for: "/a.wav") { $0.running == 0 }
      let player = try await second.open(Resource(url: url), fill: .wholeResource)
      try await #expect([UInt8](player.bytes(in: 0..<500_000)) == bytes.bytes(in: 0..<500_000))
      writer.cancel()
      await first.close()
      try await eventually("the other fills the rest") {
        player.cachedSpans == RangeSet(0..<length)
      }
      let log = try await origin.wait(for: "/a.wav") { $0.running == 0 }
      // The player itself may have read ahead before it could store.
      #expect(log.bytesSentTwice <= 2 << 20)
      player.cancel()
      await second.close()
      #expect(try StoredBytes(directory, url).spans() == RangeSet(0..<length))
    }
  }

  @Test func `A reader that waits receives what another cache has stored meanwhile`() async throws {
    try await withTwoCaches { directory, origin, first, second in
      let url = origin.url("/a.wav")
      let writer = try await first.open(url)
      _ = try await writer.bytes(in: 0..<500_000)
      // Its own request would take minutes.
      origin.script(
        "/a.wav",
        .on(.where { $0.headers.first("X-Reader") != nil }, .dribble(bytesPerSecond: 20_000)))
      let reader = try await second.open(Resource(url: url, headers: ["X-Reader": "second"]))
      _ = try await reader.bytes(in: 5_000_000..<5_000_100)
      #expect(!reader.isStoring)
      let range = 5_000_100..<length
      let rest = Task { try await reader.bytes(in: range) }
      _ = try await writer.bytes(in: 0..<length)
      writer.cancel()
      await first.close()
      try await #expect([UInt8](rest.value) == bytes.bytes(in: range))
      reader.cancel()
      await second.close()
      #expect(try StoredBytes(directory, url).firstWrongByte(bytes) == nil)
    }
  }

  @Test func `A whole-resource reader requests nothing that the other writer has stored`()
    async throws
  {
    try await withTwoCaches { directory, origin, first, second in
      let url = origin.url("/a.wav")
      let writer = try await first.open(url)
      _ = try await writer.bytes(in: 0..<500_000)
      let player = try await second.open(Resource(url: url), fill: .wholeResource)
      _ = try await writer.bytes(in: 0..<length)
      writer.cancel()
      await first.close()
      try await eventually("all is known to be stored") {
        player.cachedSpans == RangeSet(0..<length)
      }
      let log = try await origin.wait(for: "/a.wav") { $0.running == 0 }
      #expect(log.bytesSentTwice == 0)
      player.cancel()
    }
  }
}
