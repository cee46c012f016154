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
  private let length: Int64 = 2_000_003
  private let bytes = SyntheticBytes(seed: 1)

  private func url(_ name: String = "a") throws -> URL {
    try #require(URL(string: "http://origin.test/\(name).wav"))
  }

  private func cache(
    _ directory: URL, _ disk: any Disk, _ transport: (any Transport)? = nil, limit: Int64? = nil
  ) throws -> MediaCache {
    try MediaCache(
      directory: directory,
      configuration: TestCache.configuration {
        $0.transport = transport ?? MemoryTransport(seed: 1, length: length)
        $0.trustStored = true
        $0.limit = limit
      }, disk: disk)
  }

  private func dataFile(_ directory: URL) throws -> String {
    let stored = try StoredBytes(directory, url()).directory
    return try "\(stored.path)/\(stored.loadRecord().record.file)"
  }

  @Test func `A directory that cannot be listed does not count as empty`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let first = try cache(directory, SystemDisk())
    try await first.prefetch(Resource(url: url("old")))
    await first.close()
    let disk = WatchedDisk()
    let limit: Int64 = 3_000_000
    let second = try cache(directory, disk, limit: limit)
    disk.fail { operation, _ in operation == .list ? EMFILE : nil }
    let reader = try await second.open(Resource(url: url()))
    try await #expect([UInt8](reader.bytes(in: 0..<length)) == bytes.bytes(in: 0..<length))
    #expect(allocatedBytes(directory.path(percentEncoded: false)) <= limit)
    reader.cancel()
    await #expect(throws: MediaCacheError.self) { try await second.usage() }
    disk.fail(nil)
    try await second.prefetch(Resource(url: url()))
    #expect(allocatedBytes(directory.path(percentEncoded: false)) <= limit)
    await second.close()
  }

  @Test func `An entry whose record cannot be read is left unchanged`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let first = try cache(directory, SystemDisk())
    try await first.prefetch(Resource(url: url()))
    await first.close()
    let disk = WatchedDisk()
    let second = try cache(directory, disk)
    disk.fail { operation, path in
      operation == .openForReading && path.hasSuffix(EntryRecord.fileName) ? EIO : nil
    }
    let reader = try await second.open(Resource(url: url()))
    try await #expect([UInt8](reader.bytes(in: 0..<100_000)) == bytes.bytes(in: 0..<100_000))
    reader.cancel()
    await second.close()
    #expect(try StoredBytes(directory, url()).spans() == RangeSet(0..<length))
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
      let changes = Mutex(0)
      let events = Task { [events = cache.events()] in
        for await event in events {
          if case .generationChanged = event { changes.withLock { $0 += 1 } }
        }
      }
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
      await events.value
      #expect(changes.withLock { $0 } == 0)
      #expect(try StoredBytes(test.directory, url).spans() == RangeSet(0..<length))
      #expect(try StoredBytes(test.directory, url).firstWrongByte(bytes) == nil)
    }
  }

  /// Bytes written past the new end would leave a hole, which reads as zeros.
  @Test(arguments: [100_000, 599_000])
  func `A file truncated while it is written never returns zeros`(_ size: Int64) async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let isCut = Mutex(false)
    let file = Mutex("")
    let transport = MemoryTransport(seed: 1, length: length) { chunk in
      guard chunk.lowerBound >= 700_000, isCut.withLock({ $0 }) == false else { return }
      isCut.withLock { $0 = true }
      #expect(truncate(file.withLock { $0 }, off_t(size)) == 0)
    }
    let cache = try cache(directory, SystemDisk(), transport)
    let reader = try await cache.open(Resource(url: url()))
    _ = try await reader.bytes(in: 0..<10)
    // Listing the entries writes a record of the bytes received so far.
    try await #expect(cache.entries().count == 1)
    let path = try dataFile(directory)
    file.withLock { $0 = path }
    for _ in 0..<2 {
      try await #expect([UInt8](reader.bytes(in: 0..<length)) == bytes.bytes(in: 0..<length))
    }
    #expect(isCut.withLock { $0 })
    reader.cancel()
    await cache.close()
    #expect(try StoredBytes(directory, url()).firstWrongByte(bytes) == nil)
    #expect(try StoredBytes(directory, url()).spans() == RangeSet(0..<length))
  }

  #if os(Linux)
    /// A read between the cut and the end of that write may still return zeros: no system call
    /// reports that a file was cut and has grown again. A later read returns none.
    @Test func `A file truncated just before a write never returns zeros`() async throws {
      let directory = TestCache.temporaryDirectory()
      defer { try? FileManager.default.removeItem(at: directory) }
      let (goesOn, gate) = AsyncStream.makeStream(of: Void.self)
      let transport = MemoryTransport(seed: 1, length: length) { chunk in
        guard chunk.upperBound > 700_000 else { return }
        for await _ in goesOn {}
      }
      let disk = WatchedDisk()
      let cache = try cache(directory, disk, transport)
      let reader = try await cache.open(Resource(url: url()))
      _ = try await reader.bytes(in: 0..<600_000)
      let path = try dataFile(directory)
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
        try await #expect([UInt8](reader.bytes(in: 0..<length)) == bytes.bytes(in: 0..<length))
      }
      reader.cancel()
      await cache.close()
      #expect(try StoredBytes(directory, url()).firstWrongByte(bytes) == nil)
    }
  #endif
}
