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
  private let bytes = SyntheticBytes(seed: 1)

  private func url(_ name: String) throws -> URL {
    try #require(URL(string: "http://origin.test/\(name).wav"))
  }

  private func cache(
    _ directory: URL, _ limit: Int64?, length: Int64, disk: any Disk = SystemDisk()
  ) throws -> MediaCache {
    let transport = MemoryTransport(seed: 1, length: length)
    return try MediaCache(
      directory: directory,
      configuration: TestCache.configuration {
        $0.transport = transport
        $0.limit = limit
        $0.trustStored = true
      }, disk: disk)
  }

  private func fill(_ directory: URL, _ names: [String], length: Int64) async throws {
    let cache = try cache(directory, nil, length: length)
    for name in names { try await cache.prefetch(Resource(url: url(name))) }
    await cache.close()
    for (index, name) in names.enumerated() {
      let path = try StoredBytes(directory, url(name)).directory.recordPath
      SystemFiles.setChangeTime(of: path, to: 1_000_000_000 + Double(index) * 1000)
    }
  }

  private func stored(_ directory: URL, _ names: [String]) throws -> [String] {
    try names.filter { try !StoredBytes(directory, url($0)).usableSpans().isEmpty }
  }

  private func allocated(_ directory: URL) -> Int64 {
    allocatedBytes(directory.path(percentEncoded: false))
  }

  // MARK: Directories

  @Test func `Empty directories do not use up a small limit`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let names = (0..<200).map { "old-\($0)" }
    try await fill(directory, names, length: 2000)
    let limit: Int64 = 256 << 10
    let cache = try cache(directory, limit, length: 2000)
    // A slow machine would choose only among entries measured within a second.
    await cache.context.budget.startScan()?.value
    try await cache.prefetch(Resource(url: url("new")))
    await cache.close()
    #expect(allocated(directory) <= limit)
    #expect(try stored(directory, ["new"]) == ["new"])
    // The newest of the old ones remain.
    let left = try stored(directory, names)
    #expect(left.count >= 4)
    #expect(left == Array(names.suffix(left.count)))
    let entries = directory.appending(path: "entries").path(percentEncoded: false)
    for shard in SystemFiles.names(in: entries) {
      #expect(!SystemFiles.names(in: "\(entries)/\(shard)").isEmpty)
    }
  }

  @Test func `A shard removed while an entry is created in it is created again`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let disk = WatchedDisk()
    let url = try url("a")
    let entry = StoredBytes(directory, url).directory
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
    let cache = try cache(directory, nil, length: 2000, disk: disk)
    try await cache.prefetch(Resource(url: url))
    await cache.close()
    #expect(try stored(directory, ["a"]) == ["a"])
    #expect(times.withLock { $0 } == 4)
  }

  @Test func `Removing the last entry of a shard removes the shard`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    try await fill(directory, ["a", "b", "c"], length: 2000)
    let cache = try cache(directory, nil, length: 2000)
    _ = try await cache.removeAll()
    await cache.close()
    let entries = directory.appending(path: "entries").path(percentEncoded: false)
    #expect(SystemFiles.names(in: entries).isEmpty)
  }

  // MARK: What is larger than the limit

  @Test func `A resource larger than the limit plays, and evicts nothing`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let names = ["a", "b", "c"]
    try await fill(directory, names, length: 200_000)
    let limit: Int64 = 1 << 20
    let length: Int64 = 3_000_000
    let cache = try cache(directory, limit, length: length)
    let reader = try await cache.open(Resource(url: url("large")))
    var offset: Int64 = 0
    for try await chunk in reader.chunks() {
      let range = offset..<offset + Int64(chunk.count)
      #expect([UInt8](chunk) == bytes.bytes(in: range))
      offset = range.upperBound
    }
    #expect(offset == length)
    // The reader stored as much as there was room for.
    #expect(reader.cachedSpans.byteCount > 64 << 10)
    reader.cancel()
    await cache.close()
    #expect(try stored(directory, names) == names)
    #expect(allocated(directory) <= limit)
  }

  @Test func `A prefetch larger than the limit is refused, and evicts nothing`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let names = ["a", "b", "c", "d"]
    try await fill(directory, names, length: 200_000)
    let cache = try cache(directory, 1 << 20, length: 30 << 20)
    let error = try await #require(throws: MediaCacheError.self) {
      try await cache.prefetch(Resource(url: url("large")))
    }
    await cache.close()
    #expect(error.code == .storage)
    #expect(error.description.contains("30 MiB"))
    #expect(error.description.contains("1024 KiB"))
    #expect(try stored(directory, names) == names)
  }

  // MARK: File systems that cannot

  @Test func `An entry whose file cannot be shortened is evicted whole`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let names = ["a", "b"]
    let length: Int64 = 3_000_000
    try await fill(directory, names, length: length)
    let disk = WatchedDisk()
    disk.fail { operation, _ in operation == .truncate ? EOPNOTSUPP : nil }
    // Half an entry would be enough.
    let limit = allocated(directory) + length / 2
    let cache = try cache(directory, limit, length: length, disk: disk)
    try await cache.prefetch(Resource(url: url("new")))
    await cache.close()
    #expect(allocated(directory) <= limit)
    #expect(try stored(directory, names + ["new"]) == ["b", "new"])
    #expect(SystemFiles.status(of: try StoredBytes(directory, url("a")).directory.path) == nil)
  }

  // MARK: Waiting

  @Test func `A measurement by another process does not stop eviction`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let names = (0..<200).map { "old-\($0)" }
    try await fill(directory, names, length: 2000)
    let root = directory.path(percentEncoded: false)
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
        let start = record.beginCheck(dead: [])
        record.endCheck(start, measured: measured, at: Moment.now.wall.timeIntervalSince1970)
      }
      return nil
    }
    let limit = allocated(directory)
    let cache = try cache(directory, limit, length: 2000, disk: disk)
    let evictor = cache.context.evictor
    let isThere = await Task(executorPreference: IOThreads.shared) {
      await evictor.makeRoom(for: limit * 3 / 4)
    }.value
    #expect(isThere)
    #expect(removed.withLock { $0 } > 50)
    await cache.close()
    #expect(allocated(directory) <= limit / 4 + 64 << 10)
    // Not everything was removed for it.
    #expect(!(try stored(directory, names)).isEmpty)
  }

  @Test func `Making room ends even if idle leases never run out`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let cache = try cache(directory, 1 << 20, length: 2000)
    let asked = Mutex(0)
    let hold = cache.releaseIdleLeases {
      asked.withLock { $0 += 1 }
      return true
    }
    let evictor = cache.context.evictor
    let isThere = await Task(executorPreference: IOThreads.shared) {
      await evictor.makeRoom(for: 2 << 20)
    }.value
    #expect(!isThere)
    #expect(asked.withLock { $0 } > 1)
    cache.forgetIdleLeases(hold)
    await cache.close()
  }
}
