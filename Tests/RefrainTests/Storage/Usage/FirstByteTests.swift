// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

/// Even under a limit, the first byte waits for nothing that grows with the number of entries.
@Suite(.timeLimit(.minutes(2)))
struct FirstByteTests {
  private let directory = CacheDirectory(length: 300_000)

  /// Counts the directories that are listed, and blocks listings of shards.
  private final class ListingDisk: DiskLayer {
    let system = SystemDisk()
    private let isClosed: Mutex<Bool>
    private let listed = Mutex(0)

    init(isClosed: Bool) { self.isClosed = Mutex(isClosed) }

    var count: Int { listed.withLock { $0 } }

    func open() { isClosed.withLock { $0 = false } }

    func names(in path: String) throws(DiskError) -> [String] {
      listed.withLock { $0 += 1 }
      let isShard = path.split(separator: "/").last?.utf8.count == 2
      while isShard, isClosed.withLock({ $0 }) { usleep(1000) }
      return try system.names(in: path)
    }
  }

  private func fill(_ count: Int) async throws {
    try await directory.withCache { cache in
      for index in 0..<count {
        try await cache.prefetch(directory.url("old-\(index)"), range: 0..<1000)
      }
    }
  }

  @Test func `The first read with a limit lists few directories`() async throws {
    try await fill(60)
    let disk = ListingDisk(isClosed: false)
    let cache = try directory.cache(limit: 1 << 30, disk: disk)
    try await directory.expectToPlay("new", 0..<1000, from: cache)
    #expect(disk.count < 12)
    await cache.close()
  }

  @Test func `Without a count, measuring does not block readers`() async throws {
    try await fill(5)
    let usage = directory.usageFile
    try FileManager.default.removeItem(atPath: "\(directory.path)/usage")
    let disk = ListingDisk(isClosed: true)
    let cache = try directory.cache(limit: 1 << 30, disk: disk)
    let reader = try await cache.open(directory.url("new"))
    try await directory.expectToPlay(from: reader)
    #expect(reader.isStoring)
    // Nothing has been measured yet.
    #expect(!usage.update(\.isMeasured))
    disk.open()
    try await eventually("the directory is measured") { usage.update(\.isMeasured) }
    reader.cancel()
    await cache.close()
  }

  @Test func `Nothing is evicted before the usage is known`() async throws {
    try await fill(5)
    try FileManager.default.removeItem(atPath: "\(directory.path)/usage")
    let disk = ListingDisk(isClosed: true)
    let cache = try directory.cache(limit: 1 << 20, disk: disk)
    let (budget, evictor) = (cache.budget, cache.evictor)
    let name = KeyHash.name(of: CacheKey(url: try directory.url("old-0")))
    budget.index.withLock { $0.note(.init(name: name, lastAccess: 0, allocatedBytes: 8192)) }
    #expect(budget.reserve(200_000))
    let isThere = await Task(executorPreference: IOThreads.shared) {
      await evictor.makeRoom(for: 200_000)
    }.value
    #expect(!isThere)
    budget.settle(200_000, actual: 0, for: name)
    disk.open()
    await cache.close()
    let names = (0..<5).map { "old-\($0)" }
    #expect(try directory.stored(of: names) == names)
  }

  @Test func `A prefetch larger than the limit waits for no scan`() async throws {
    try await fill(1)
    let disk = ListingDisk(isClosed: true)
    let cache = try directory.cache(limit: directory.length, disk: disk)
    cache.budget.startScan()
    await expectError(.storage) { try await cache.prefetch(directory.url("new")) }
    disk.open()
    await cache.close()
  }

  @Test func `A prefetch waits for a scan longer than a player does`() async throws {
    try await fill(5)
    try FileManager.default.removeItem(atPath: "\(directory.path)/usage")
    let disk = ListingDisk(isClosed: true)
    let cache = try directory.cache(limit: 1 << 20, disk: disk)
    let prefetch = Task { try await cache.prefetch(directory.url("new")) }
    try await eventually("the prefetch waits") { cache.budget.index.withLock { $0.scan != nil } }
    let reader = try await cache.open(directory.url("played"))
    try await directory.expectToPlay(from: reader)
    #expect(!reader.isStoring)
    disk.open()
    _ = try await prefetch.value
    // Bytes are recorded just after their readers have received them.
    try await eventually("the new one is whole") { try directory.isWhole("new") }
    reader.cancel()
    await cache.close()
  }

  @Test func `A prefetch for which no scan finds room reports that`() async throws {
    try await fill(5)
    try FileManager.default.removeItem(atPath: "\(directory.path)/usage")
    let cache = try directory.cache(limit: 2 << 20)
    // One scan after the other, and none measures anything.
    let scan = { cache.budget.index.withLock { $0.scan = Task {} } }
    scan()
    let scanning = Task {
      while !Task.isCancelled {
        scan()
        try await Task.sleep(for: .milliseconds(1))
      }
    }
    let error = await expectError(.storage) { try await cache.prefetch(directory.url("new")) }
    #expect(error?.hasNoRoom == true)
    scanning.cancel()
    await cache.close()
  }

  @Test func `Room is made from the entries measured so far, before a scan ends`() async throws {
    try await fill(8)
    let disk = ListingDisk(isClosed: false)
    let cache = try directory.cache(limit: 64 << 20, disk: disk)
    let budget = cache.budget
    await IOThreads.background.run {
      let shards = (try? budget.shards()) ?? []
      for name in shards.flatMap({ (try? budget.names(inShard: $0)) ?? [] }) {
        if let entry = try? budget.measure(name) { budget.index.withLock { $0.note(entry) } }
      }
    }
    // A scan that makes no progress.
    let slow = ListingDisk(isClosed: true)
    let waiting = try directory.cache(limit: 64 << 20, disk: slow)
    let index = budget.index.withLock { $0 }
    waiting.budget.index.withLock { $0 = index }
    let evictor = waiting.evictor
    let freed = await Task(executorPreference: IOThreads.shared) { await evictor.free(8192) }.value
    #expect(freed >= 8192)
    slow.open()
    await waiting.close()
    await cache.close()
  }
}
