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
  private let directory = CacheDirectory(length: 3_000_017)

  @Test(arguments: [ENOLCK, EBADF, EINVAL, EOPNOTSUPP])
  func `Without locks, bytes are stored with one warning`(_ code: Int32) async throws {
    let disk = WatchedDisk()
    disk.fail { operation, _ in operation == .lock ? code : nil }
    let cache = try directory.cache(disk: disk)
    let events = cache.events(includingTraffic: false)
    for name in ["a", "b"] {
      try await cache.prefetch(directory.url(name))
      #expect(try await cache.completeFile(for: directory.url(name)) != nil)
      #expect(try directory.isRight(name))
    }
    await cache.close()
    let texts = await warnings(events)
    #expect(texts.count == 1)
    #expect(texts.first?.contains("cannot lock") == true)
  }

  @Test func `Without locks, entries are evicted whole, never shortened`() async throws {
    let disk = WatchedDisk()
    let holes = Mutex(0)
    disk.fail { operation, _ in
      if operation == .truncate { holes.withLock { $0 += 1 } }
      return operation == .lock ? ENOLCK : nil
    }
    let limit: Int64 = 4_000_000
    let cache = try directory.cache(limit: limit, disk: disk)
    for name in ["a", "b"] { try await cache.prefetch(directory.url(name)) }
    #expect(directory.allocated <= limit)
    #expect(try await cache.completeFile(for: directory.url("b")) != nil)
    #expect(holes.withLock { $0 } == 0)
    await cache.close()
  }

  @Test func `All entries are locked in one file that stays empty`() async throws {
    let cache = try directory.cache()
    let path = directory.path
    var readers: [MediaReader] = []
    for name in ["a", "b"] {
      let reader = try await cache.open(directory.url(name))
      _ = try await reader.bytes(in: 0..<100_000)
      readers.append(reader)
    }
    for (name, isHeld) in [("a", true), ("b", true), ("c", false)] {
      #expect(try WriterLock.isHeld(directory.stored(name).directory) == isHeld)
    }
    for reader in readers { reader.cancel() }
    await cache.close()
    for name in ["a", "b"] {
      #expect(try !WriterLock.isHeld(directory.stored(name).directory))
    }
    #expect(SystemFiles.names(in: "\(path)/entries").allSatisfy { $0.utf8.count == 2 })
    #expect(SystemFiles.status(of: "\(path)/locks")?.allocated == 0)
  }

  @Test(arguments: [EROFS, EACCES])
  func `A complete entry plays if nothing can be written`(_ code: Int32) async throws {
    try await directory.fill(["a"])
    let disk = WatchedDisk()
    let second = try directory.cache(disk: disk) { $0.offline = true }
    disk.fail { operation, _ in
      operation.changesDisk || operation == .openExisting ? code : nil
    }
    let events = second.events(includingTraffic: false)
    try await directory.expectToPlay(from: second)
    #expect(try await second.entries().map(\.isComplete) == [true])
    await second.close()
    #expect(await warnings(events).isEmpty)
  }

  @Test func `Missing bytes are streamed on a read-only file system`() async throws {
    try await directory.withCache { try await $0.prefetch(directory.url(), range: 0..<1_000_000) }
    let disk = WatchedDisk()
    let origin = directory.transport()
    let second = try directory.cache(disk: disk, transport: origin)
    disk.fail { operation, _ in
      operation.changesDisk || operation == .openExisting ? EROFS : nil
    }
    try await directory.expectToPlay(from: second)
    #expect(!origin.received.contains(999_999) && origin.received.contains(1_000_000))
    let error = await expectError(.storage) { try await second.prefetch(directory.url()) }
    #expect(error?.reason.contains("Read-only") == true)
    await second.close()
  }

  @Test func `A file system that becomes read-only while bytes are stored is reported`()
    async throws
  {
    let directory = CacheDirectory(length: 100_000)
    let disk = WatchedDisk()
    let cache = try directory.cache(disk: disk)
    let events = cache.events(includingTraffic: false)
    let reader = try await cache.open(directory.url())
    try await directory.expectToPlay(from: reader)
    // A sync that fails is reported by itself; the record is what cannot be written.
    disk.fail { operation, path in
      operation == .open && path.hasSuffix(".new") ? EROFS : nil
    }
    reader.cancel()
    await cache.close()
    #expect(await !warnings(events).isEmpty)
  }

  @Test func `A removed cache directory is created again`() async throws {
    let cache = try directory.cache()
    let reader = try await cache.open(directory.url("open"))
    _ = try await reader.bytes(in: 0..<100_000)
    try FileManager.default.removeItem(at: directory.url)
    try await cache.prefetch(directory.url())
    #expect(try await cache.completeFile(for: directory.url()) != nil)
    try await directory.expectToPlay(from: reader)
    reader.cancel()
    await cache.close()
    #expect(try directory.isWhole())
  }

  @Test func `A prefetch whose files are removed stores them again`() async throws {
    let directory = CacheDirectory(length: 12_000_001)
    let isRemoved = Mutex(false)
    let transport = MemoryTransport(seed: 1, length: directory.length) {
      [url = directory.url] chunk in
      guard chunk.lowerBound >= 1_000_000 else { return }
      isRemoved.withLock { isRemoved in
        if !isRemoved {
          #expect(throws: Never.self) { try FileManager.default.removeItem(at: url) }
        }
        isRemoved = true
      }
    }
    let cache = try directory.cache(transport: transport)
    try await cache.prefetch(directory.url())
    #expect(isRemoved.withLock { $0 })
    await cache.close()
    #expect(try directory.isWhole())
  }
}
