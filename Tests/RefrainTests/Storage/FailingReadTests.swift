// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A disk that cannot be read says nothing about the stored bytes; a file that another program cuts
/// short never returns zeros.
@Suite(.timeLimit(.minutes(1)))
struct FailingReadTests {
  private let directory = CacheDirectory(length: 2_000_003)
  private var length: Int64 { directory.length }
  private var bytes: SyntheticBytes { directory.bytes }

  @Test func `A directory that cannot be listed does not count as empty`() async throws {
    try await directory.fill(["old"])
    let disk = WatchedDisk()
    let limit: Int64 = 3_000_000
    let second = try directory.cache(limit: limit, disk: disk)
    disk.fail { operation, _ in operation == .list ? EMFILE : nil }
    try await directory.expectToPlay(from: second)
    #expect(directory.allocated <= limit)
    await #expect(throws: MediaCacheError.self) { try await second.usage() }
    disk.fail(nil)
    try await second.prefetch(directory.url())
    #expect(directory.allocated <= limit)
    await second.close()
  }

  /// Without permission, and on a damaged disk.
  @Test(arguments: [EACCES, EIO])
  func `An entry that cannot be listed does not keep others from being evicted`(
    _ code: Int32
  ) async throws {
    let before = try directory.cache(bootIdentity: "before")
    for name in ["old", "other"] { try await before.prefetch(directory.url(name)) }
    await before.close()
    let path = try directory.stored("old").directory.path
    let disk = WatchedDisk()
    disk.fail { operation, found in operation == .list && found == path ? code : nil }
    let limit: Int64 = 5_000_000
    let cache = try directory.cache(limit: limit, disk: disk)
    let events = cache.events(includingTraffic: false)
    try await cache.prefetch(directory.url("new"))
    await cache.close()
    #expect(try directory.isWhole("new"))
    // It still counts.
    #expect(try directory.isWhole("old"))
    #expect(directory.allocated <= limit)
    let texts = await warnings(events)
    #expect(texts.count == 1)
    #expect(texts.first?.contains("could not be scanned completely") == true)
  }

  @Test func `A scan that lacks file descriptors does not lower the count`() async throws {
    try await directory.fill(["old"])
    let path = try directory.stored("old").directory.path
    let disk = WatchedDisk()
    let cache = try directory.cache(limit: 1 << 30, disk: disk)
    disk.fail { operation, found in operation == .list && found == path ? EMFILE : nil }
    await cache.budget.startScan().value
    #expect(directory.usageFile.update(\.used) >= directory.allocated)
    await cache.close()
  }

  @Test func `An entry whose record cannot be read is left unchanged`() async throws {
    try await directory.fill(["a"])
    let disk = WatchedDisk()
    let second = try directory.cache(disk: disk)
    disk.fail { operation, path in
      operation == .openForReading && path.hasSuffix(EntryRecord.fileName) ? EIO : nil
    }
    try await directory.expectToPlay("a", 0..<100_000, from: second)
    await second.close()
    #expect(try directory.stored().spans() == RangeSet(0..<length))
  }

  @Test func `A read error during comparison does not count as a changed resource`() async throws {
    try await withCache { test in
      let path = "/a.wav"
      test.origin.serve(
        OriginResource(
          .synthetic(seed: 1, length: length), etag: "W/\"1\"", supportsRanges: false), at: path)
      let url = test.origin.url(path)
      test.origin.script(path, .on(.first(1), .drop(at: .body(1_000_000))))
      let disk = WatchedDisk()
      let cache = try MediaCache(
        directory: test.directory,
        configuration: TestCache.configuration { $0.trustStored = true }, disk: disk)
      let events = cache.events(includingTraffic: false)
      // The first response breaks off, and the second brings its bytes again.
      let isFirst = Mutex(true)
      disk.fail { operation, path in
        guard operation == .read, path.hasSuffix(".wav") else { return nil }
        return isFirst.withLock { isFirst in
          defer { isFirst = false }
          return isFirst ? EIO : nil
        }
      }
      try await cache.prefetch(Resource(url: url))
      #expect(!isFirst.withLock { $0 })
      await cache.close()
      for await case .generationChanged in events { Issue.record("It counts as changed.") }
      #expect(try StoredBytes(test.directory, url).spans() == RangeSet(0..<length))
      #expect(try StoredBytes(test.directory, url).firstWrongByte(bytes) == nil)
    }
  }

  /// Bytes written past the new end would leave a hole, which reads as zeros.
  @Test(arguments: [100_000, 599_000])
  func `A file truncated while it is written never returns zeros`(_ size: Int64) async throws {
    let isCut = Mutex(false)
    let file = Mutex("")
    let transport = MemoryTransport(seed: 1, length: length) { chunk in
      guard chunk.lowerBound >= 700_000, isCut.withLock({ $0 }) == false else { return }
      isCut.withLock { $0 = true }
      #expect(truncate(file.withLock { $0 }, off_t(size)) == 0)
    }
    let cache = try directory.cache(transport: transport)
    let reader = try await cache.open(directory.url())
    _ = try await reader.bytes(in: 0..<10)
    // Listing the entries writes a record of the bytes received so far.
    try await #expect(cache.entries().count == 1)
    let path = try directory.dataFile()
    file.withLock { $0 = path }
    for _ in 0..<2 { try await directory.expectToPlay(from: reader) }
    #expect(isCut.withLock { $0 })
    reader.cancel()
    await cache.close()
    #expect(try directory.isWhole())
  }

  /// Reading alone does not look at the size of the file; writing has to.
  @Test func `A file truncated below stored bytes is not continued behind the gap`() async throws {
    let transport = MemoryTransport(seed: 1, length: length)
    let first = try directory.cache(transport: transport)
    let filling = try await first.open(directory.url())
    _ = try await filling.bytes(in: 0..<600_000)
    filling.cancel()
    await first.close()
    let cache = try directory.cache(transport: transport)
    let reader = try await cache.open(directory.url())
    _ = try await reader.contentInformation()
    #expect(reader.cachedSpans.contains(599_999))
    #expect(truncate(try directory.dataFile(), 100_000) == 0)
    // The first bytes that this cache stores.
    _ = try await reader.bytes(in: (length - 10)..<length)
    for _ in 0..<2 { try await directory.expectToPlay(from: reader) }
    reader.cancel()
    await cache.close()
    #expect(try directory.isWhole())
  }

  #if os(Linux)
    /// A read between the cut and the end of that write, or of those of chunks that have arrived, may
    /// still return zeros: no system call reports that a file was cut and has grown again. A later
    /// read returns none.
    @Test func `A file truncated just before a write never returns zeros`() async throws {
      let (goesOn, gate) = AsyncStream.makeStream(of: Void.self)
      let transport = MemoryTransport(seed: 1, length: length) { chunk in
        guard chunk.upperBound > 700_000 else { return }
        for await _ in goesOn {}
      }
      let disk = WatchedDisk()
      let cache = try directory.cache(disk: disk, transport: transport)
      let reader = try await cache.open(directory.url())
      _ = try await reader.bytes(in: 0..<600_000)
      let path = try directory.dataFile()
      let isCut = Mutex(false)
      // Runs between the check of the file's size and the write.
      disk.fail { operation, written in
        guard operation == .write, written == path else { return nil }
        isCut.withLock { isCut in
          if !isCut { #expect(truncate(path, 100_000) == 0) }
          isCut = true
        }
        return nil
      }
      let next = Task { try await reader.bytes(in: 600_000..<length) }
      gate.finish()
      try await eventually("the write is over") {
        isCut.withLock { $0 } && reader.cachedSpans.contains(700_000)
      }
      _ = await next.result
      for _ in 0..<2 {
        try await directory.expectToPlay(from: reader)
      }
      reader.cancel()
      await cache.close()
      #expect(try directory.isRight())
    }
  #endif
}
