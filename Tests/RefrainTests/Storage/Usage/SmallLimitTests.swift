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

/// A small limit holds little, but never nothing, and not at the expense of everything else.
@Suite(.timeLimit(.minutes(2)))
struct SmallLimitTests {
  private let directory = CacheDirectory(length: 2000)

  // MARK: Directories

  @Test func `Empty directories do not use up a small limit`() async throws {
    let names = (0..<200).map { "old-\($0)" }
    try await directory.fill(names)
    let limit: Int64 = 256 << 10
    let cache = try directory.cache(limit: limit)
    // A slow machine would choose only among entries measured within a second.
    await cache.budget.startScan().value
    try await cache.prefetch(directory.url("new"))
    await cache.close()
    #expect(directory.allocated <= limit)
    #expect(try directory.stored(of: ["new"]) == ["new"])
    // The newest of the old ones remain.
    let left = try directory.stored(of: names)
    #expect(left.count >= 4)
    #expect(left == Array(names.suffix(left.count)))
    let entries = "\(directory.path)/entries"
    for shard in SystemFiles.names(in: entries) {
      #expect(!SystemFiles.names(in: "\(entries)/\(shard)").isEmpty)
    }
  }

  @Test func `A shard removed while an entry is created in it is created again`() async throws {
    let disk = WatchedDisk()
    let entry = try directory.stored().directory
    let times = Mutex(0)
    disk.fail { operation, path in
      // Between creating the shard and creating the entry in it.
      guard operation == .makeDirectory, path == entry.path else { return nil }
      let time = times.withLock { times in
        times += 1
        return times
      }
      if time < 4 { _ = rmdir(entry.shardPath) }
      return nil
    }
    let cache = try directory.cache(disk: disk)
    try await cache.prefetch(directory.url())
    await cache.close()
    #expect(try directory.stored(of: ["a"]) == ["a"])
    #expect(times.withLock { $0 } == 4)
  }

  @Test func `Removing the last entry of a shard removes the shard`() async throws {
    try await directory.fill(["a", "b", "c"])
    let cache = try directory.cache()
    _ = try await cache.removeAll()
    await cache.close()
    let entries = "\(directory.path)/entries"
    #expect(SystemFiles.names(in: entries).isEmpty)
  }

  @Test func `A file or a link in a shard's place is left where it is`() async throws {
    try await directory.fill(["a"])
    let paths = ["yy", "zz"].map { "\(directory.path)/entries/\($0)" }
    try Data().write(to: URL(filePath: paths[0]))
    #expect(symlink(directory.path, paths[1]) == 0)
    try await directory.withCache(limit: 1 << 20) { await $0.budget.startScan().value }
    #expect(paths.allSatisfy { SystemFiles.status(of: $0) != nil })
  }

  @Test func `Removing everything counts an open entry until it is removed`() async throws {
    let directory = CacheDirectory(length: 3_000_000)
    let disk = WatchedDisk()
    let cache = try directory.cache(limit: 16 << 20, disk: disk)
    let reader = try await cache.open(directory.url())
    for try await _ in reader.chunks() {}
    let usage = cache.budget.usage
    let least = Mutex(Int64.max)
    disk.fail { operation, path in
      guard operation == .list, path.contains("/entries") else { return nil }
      least.withLock { $0 = min($0, usage.update(\.used)) }
      return nil
    }
    _ = try await cache.removeAll()
    #expect((3_000_000..<Int64.max).contains(least.withLock { $0 }))
    reader.cancel()
    await cache.close()
    #expect(usage.update(\.used) <= directory.allocated)
  }

  // MARK: What is larger than the limit

  @Test func `A resource larger than the limit plays, and evicts nothing`() async throws {
    let directory = CacheDirectory(length: 200_000)
    let names = ["a", "b", "c"]
    try await directory.fill(names)
    let limit: Int64 = 1 << 20
    let cache = try directory.cache(
      limit: limit, transport: MemoryTransport(seed: 1, length: 3_000_000))
    let reader = try await cache.open(directory.url("large"))
    var read: [UInt8] = []
    for try await chunk in reader.chunks() { read += chunk }
    let isRight = read == directory.bytes.bytes(in: 0..<3_000_000)
    #expect(isRight)
    // The reader stored as much as there was room for.
    #expect(reader.cachedSpans.byteCount > 64 << 10)
    reader.cancel()
    await cache.close()
    #expect(try directory.stored(of: names) == names)
    #expect(directory.allocated <= limit)
  }

  @Test func `A prefetch larger than the limit is refused, and evicts nothing`() async throws {
    let directory = CacheDirectory(length: 200_000)
    let names = ["a", "b", "c", "d"]
    try await directory.fill(names)
    let cache = try directory.cache(
      limit: 1 << 20, transport: MemoryTransport(seed: 1, length: 30 << 20))
    let error = await expectError(.storage) { try await cache.prefetch(directory.url("large")) }
    await cache.close()
    #expect(error?.hasNoRoom == true)
    #expect(try directory.stored(of: names) == names)
  }

  // MARK: Waiting

  @Test func `A measurement by another process does not stop eviction`() async throws {
    let names = (0..<200).map { "old-\($0)" }
    try await directory.fill(names)
    let root = directory.path
    // Another process measures the directory when a quarter of the entries has been removed.
    let other = DiskBudget(
      directory: root, limit: 1 << 20, disk: SystemDisk(), clock: { Moment.now })
    let removed = Mutex(0)
    let disk = WatchedDisk()
    disk.fail { operation, path in
      guard operation == .remove, path.hasSuffix("/\(EntryRecord.fileName)") else { return nil }
      let count = removed.withLock { count in
        count += 1
        return count
      }
      guard count == 50 else { return nil }
      let measured = allocatedBytes(root)
      other.usage.update { record in
        record.endMeasurement(since: record, measured: measured)
      }
      return nil
    }
    let limit = directory.allocated
    let cache = try directory.cache(limit: limit, disk: disk)
    let evictor = cache.evictor
    let isThere = await Task(executorPreference: IOThreads.shared) {
      await evictor.makeRoom(for: limit * 3 / 4)
    }.value
    #expect(isThere)
    #expect(removed.withLock { $0 } > 50)
    await cache.close()
    #expect(directory.allocated <= limit / 4 + 64 << 10)
    // Not everything was removed for it.
    #expect(!(try directory.stored(of: names)).isEmpty)
  }

  @Test func `Room is made from an idle entry whose work ends a little later`() async throws {
    let directory = CacheDirectory(length: 2_000_000)
    let cache = try directory.cache(limit: 3_000_000)
    let reader = try await cache.open(directory.url())
    try await directory.expectToPlay(from: reader)
    let entry = reader.entry
    // A sync, for example.
    entry.beginTask()
    let asked = Mutex(0)
    let hold = cache.releaseIdleLeases {
      let count = asked.withLock { count in
        count += 1
        return count
      }
      if count == 1 { reader.cancel() }
      if count == 3 { entry.endTask() }
      return count == 1
    }
    let evictor = cache.evictor
    let isThere = await Task(executorPreference: IOThreads.shared) {
      await evictor.makeRoom(for: 2_000_000)
    }.value
    #expect(isThere)
    cache.forgetIdleLeases(hold)
    await cache.close()
  }

  @Test func `Making room ends even if idle leases never run out`() async throws {
    let cache = try directory.cache(limit: 1 << 20)
    let asked = Mutex(0)
    let hold = cache.releaseIdleLeases {
      asked.withLock { $0 += 1 }
      return true
    }
    let evictor = cache.evictor
    let isThere = await Task(executorPreference: IOThreads.shared) {
      await evictor.makeRoom(for: 2 << 20)
    }.value
    #expect(!isThere)
    #expect(asked.withLock { $0 } > 1)
    cache.forgetIdleLeases(hold)
    await cache.close()
  }
}
