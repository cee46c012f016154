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

/// File systems without locks or without write access, and directories that disappear.
@Suite(.timeLimit(.minutes(1)))
struct UnusualFileSystemTests {
  private let length: Int64 = 3_000_017
  private let bytes = SyntheticBytes(seed: 1)

  private func url(_ name: String = "a") throws -> URL {
    try #require(URL(string: "http://origin.test/\(name).wav"))
  }

  private func cache(
    _ directory: URL, _ disk: any Disk = SystemDisk(), _ transport: (any Transport)? = nil,
    _ change: (inout MediaCache.Configuration) -> Void = { _ in }
  ) throws -> MediaCache {
    try MediaCache(
      directory: directory,
      configuration: TestCache.configuration {
        $0.transport = transport ?? MemoryTransport(seed: 1, length: length)
        $0.trustStored = true
        change(&$0)
      }, disk: disk)
  }

  private func warnings(of cache: MediaCache) -> Task<[String], Never> {
    Task { [events = cache.events(includingTraffic: false)] in
      var warnings: [String] = []
      for await event in events { if case .warning(let text) = event { warnings.append(text) } }
      return warnings
    }
  }

  @Test(arguments: [ENOLCK, EBADF, EINVAL, EOPNOTSUPP])
  func `Without locks, bytes are stored with one warning`(_ code: Int32) async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let disk = WatchedDisk()
    disk.fail { operation, _ in operation == .lock ? code : nil }
    let cache = try cache(directory, disk)
    let warnings = warnings(of: cache)
    for name in ["a", "b"] {
      try await cache.prefetch(Resource(url: url(name)))
      #expect(try await cache.completeFile(for: CacheKey(url: url(name))) != nil)
      #expect(try StoredBytes(directory, url(name)).firstWrongByte(bytes) == nil)
    }
    await cache.close()
    let texts = await warnings.value
    #expect(texts.count == 1)
    #expect(texts.first?.contains("cannot lock") == true)
  }

  @Test func `Without locks, entries are evicted whole, never shortened`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let disk = WatchedDisk()
    let holes = Mutex(0)
    disk.fail { operation, _ in
      if operation == .truncate { holes.withLock { $0 += 1 } }
      return operation == .lock ? ENOLCK : nil
    }
    let limit: Int64 = 4_000_000
    let cache = try cache(directory, disk, nil) { $0.limit = limit }
    for name in ["a", "b"] { try await cache.prefetch(Resource(url: url(name))) }
    #expect(allocatedBytes(directory.path(percentEncoded: false)) <= limit)
    #expect(try await cache.completeFile(for: CacheKey(url: url("b"))) != nil)
    #expect(holes.withLock { $0 } == 0)
    await cache.close()
  }

  @Test func `All entries are locked in one file that stays empty`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let cache = try cache(directory)
    let path = directory.path(percentEncoded: false)
    var readers: [MediaReader] = []
    for name in ["a", "b"] {
      let reader = try await cache.open(Resource(url: url(name)))
      _ = try await reader.bytes(in: 0..<100_000)
      readers.append(reader)
    }
    let other = WriterLocks(directory: path, disk: SystemDisk())
    for (name, isHeld) in [("a", true), ("b", true), ("c", false)] {
      #expect(other.isHeld(KeyHash.name(of: CacheKey(url: try url(name)))) == isHeld)
    }
    for reader in readers { reader.cancel() }
    await cache.close()
    #expect(!other.isHeld(nil))
    #expect(SystemFiles.names(in: "\(path)/entries").allSatisfy { $0.utf8.count == 2 })
    #expect(SystemFiles.status(of: "\(path)/locks")?.allocated == 0)
  }

  @Test(arguments: [EROFS, EACCES])
  func `A complete entry plays if nothing can be written`(_ code: Int32) async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let first = try cache(directory)
    try await first.prefetch(Resource(url: url()))
    await first.close()
    let disk = WatchedDisk()
    let second = try cache(directory, disk, nil) { $0.offline = true }
    disk.fail { operation, _ in
      operation.changesDisk || operation == .openExisting ? code : nil
    }
    let warnings = warnings(of: second)
    let reader = try await second.open(Resource(url: url()))
    try await #expect([UInt8](reader.bytes(in: 0..<length)) == bytes.bytes(in: 0..<length))
    reader.cancel()
    #expect(try await second.entries().map(\.isComplete) == [true])
    await second.close()
    #expect(await warnings.value.isEmpty)
  }

  @Test func `Missing bytes are streamed on a read-only file system`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let first = try cache(directory)
    try await first.prefetch(Resource(url: url()), range: 0..<1_000_000)
    await first.close()
    let disk = WatchedDisk()
    let origin = MemoryTransport(seed: 1, length: length)
    let second = try cache(directory, disk, origin)
    disk.fail { operation, _ in
      operation.changesDisk || operation == .openExisting ? EROFS : nil
    }
    let reader = try await second.open(Resource(url: url()))
    try await #expect([UInt8](reader.bytes(in: 0..<length)) == bytes.bytes(in: 0..<length))
    #expect(!origin.received.contains(999_999) && origin.received.contains(1_000_000))
    reader.cancel()
    let error = await #expect(throws: MediaCacheError.self) {
      try await second.prefetch(Resource(url: url()))
    }
    #expect(error?.reason.contains("read-only") == true)
    await second.close()
  }

  @Test func `A removed cache directory is created again`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let cache = try cache(directory)
    let reader = try await cache.open(Resource(url: url("open")))
    _ = try await reader.bytes(in: 0..<100_000)
    try FileManager.default.removeItem(at: directory)
    try await cache.prefetch(Resource(url: url()))
    let file = try #require(try await cache.completeFile(for: CacheKey(url: url())))
    #expect([UInt8](try Data(contentsOf: file)) == bytes.bytes(in: 0..<length))
    try await #expect([UInt8](reader.bytes(in: 0..<length)) == bytes.bytes(in: 0..<length))
    reader.cancel()
    await cache.close()
  }

  @Test func `A prefetch whose files are removed stores them again`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let length: Int64 = 12_000_001
    let isRemoved = Mutex(false)
    let transport = MemoryTransport(seed: 1, length: length) { chunk in
      guard chunk.lowerBound >= 1_000_000 else { return }
      isRemoved.withLock { isRemoved in
        if !isRemoved {
          #expect(throws: Never.self) { try FileManager.default.removeItem(at: directory) }
        }
        isRemoved = true
      }
    }
    let cache = try cache(directory, SystemDisk(), transport)
    try await cache.prefetch(Resource(url: url()))
    #expect(isRemoved.withLock { $0 })
    await cache.close()
    #expect(try StoredBytes(directory, url()).spans() == RangeSet(0..<length))
    #expect(try StoredBytes(directory, url()).firstWrongByte(bytes) == nil)
  }
}
