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

/// The counted size is at no instant below the size on disk, in whatever order operations happen.
@Suite(.timeLimit(.minutes(2)))
struct UsageOrderTests {
  private let directory = CacheDirectory(length: 2_000_000)

  /// Compares the counted size with the size on disk after every operation.
  private final class Auditor: Sendable {
    private let path: String
    private let worst = Mutex(Int64.min)
    private let count = Mutex(0)

    init(_ directory: CacheDirectory) { path = directory.path }

    func check() {
      // Nothing to compare before the first grant.
      guard let before = used() else { return }
      let allocated = allocatedBytes(path)
      // Other threads count and store meanwhile. This one, whose operation is compared, does not.
      let excess = allocated - max(before, used() ?? before)
      worst.withLock { $0 = max($0, excess) }
      count.withLock { $0 += 1 }
    }

    private func used() -> Int64? {
      guard let bytes = try? SystemDisk().contents(of: "\(path)/usage") else { return nil }
      return UsageRecord.decode(bytes)?.used
    }

    /// The largest amount by which the size on disk exceeded the counted size.
    var excess: Int64 { worst.withLock { $0 } }
    var checks: Int { count.withLock { $0 } }
  }

  @Test func `Entries stored, evicted and removed concurrently are counted`() async throws {
    let auditor = Auditor(directory)
    let disk = WatchedDisk { _ in auditor.check() }
    let limit: Int64 = 5 << 20
    let caches = try (0..<2).map { _ in try directory.cache(limit: limit, disk: disk) }
    try await concurrently(8) { [directory] number in
      let (cache, url) = (caches[number % 2], try directory.url("\(number)"))
      for start in [0, 700_000] as [Int64] {
        let reader = try await cache.open(url)
        defer { reader.cancel() }
        try await directory.expectToPlay(start..<start + 900_000, from: reader)
        if number >= 6 { try await cache.remove(url) }
      }
    }
    for cache in caches { await cache.close() }
    #expect(auditor.excess <= 0)
    #expect(directory.allocated <= limit)
  }

  @Test func `A scan that passes over a part leaves the count as it is`() async throws {
    try await directory.fill(["a"])
    let shard = try directory.stored().directory.shardPath
    let disk = WatchedDisk()
    let budget = DiskBudget(
      directory: directory.path, limit: nil, disk: disk, clock: { Moment.now })
    let used = budget.usage.update(\.used)
    #expect(budget.reserve(1000))
    disk.fail { operation, path in
      guard operation == .list, path == shard else { return nil }
      // Meanwhile, the grant is given back.
      budget.conclude("b", reserved: 1000)
      return EACCES
    }
    await budget.startScan().value
    #expect(budget.index.withLock { $0.scanFailure?.code } == EACCES)
    #expect(budget.usage.update(\.used) == used)
  }

  @Test func `A scan measures the rest of a shard beside an entry that cannot be listed`()
    async throws
  {
    let shard = "\(directory.path)/entries/00"
    for number in 1...3 {
      try FileManager.default.createDirectory(
        atPath: "\(shard)/\(String(repeating: "\(number)", count: 30))00",
        withIntermediateDirectories: true)
    }
    // The others come after it, whatever the order of the names.
    let damaged = try "\(shard)/\(#require(SystemFiles.names(in: shard).first))"
    let disk = WatchedDisk()
    disk.fail { operation, path in operation == .list && path == damaged ? EIO : nil }
    let budget = DiskBudget(
      directory: directory.path, limit: nil, disk: disk, clock: { Moment.now })
    await budget.startScan().value
    #expect(budget.index.withLock { $0.scanFailure?.code } == EIO)
    #expect(budget.index.withLock(\.count) == 2)
    #expect(budget.usage.update(\.isMeasured))
  }

  @Test func `Known entries do not keep the others from being looked for`() async throws {
    try await directory.fill(["a"])
    let budget = DiskBudget(
      directory: directory.path, limit: 1 << 30, disk: SystemDisk(), clock: { Moment.now })
    budget.index.withLock { index in
      for number in 0..<200 {
        index.note(.init(name: "\(number)", lastAccess: 0, allocatedBytes: 0))
      }
    }
    #expect(await budget.waitForCandidates())
    #expect(budget.index.withLock { $0.scan != nil || $0.lastScan != nil })
    await budget.close()
  }

  @Test func `A journal of small pieces stays small, and its spans are correct`() async throws {
    let most = Mutex(Int64(0))
    let stored = try directory.stored()
    let disk = WatchedDisk()
    disk.fail { operation, path in
      guard operation == .write, path.hasSuffix(SpanJournal.suffix) else { return nil }
      let size = SystemFiles.status(of: path)?.size ?? 0
      most.withLock { $0 = max($0, size) }
      return nil
    }
    let transport = MemoryTransport(seed: 1, length: 100_000, chunkSize: 64)
    let cache = try directory.cache(disk: disk, transport: transport)
    let reader = try await cache.open(directory.url())
    try await directory.expectToPlay(0..<100_000, from: reader)
    // The state after a kill at this moment; the last piece is recorded after it was read.
    try await eventually("all is written down") {
      RangeSet(0..<100_000).subtracting(stored.usableSpans()).isEmpty
    }
    #expect(try directory.isRight())
    reader.cancel()
    await cache.close()
    // A record for each request.
    #expect(most.withLock { $0 } < 2000)
  }

  /// A killed process leaves a record whole: a write within a page is not interrupted.
  @Test func `A journal record never crosses a page, and a torn one counts for nothing`() throws {
    let disk = SystemDisk()
    try FileManager.default.createDirectory(
      atPath: directory.path, withIntermediateDirectories: true)
    let journal = try JournalFile(
      in: EntryDirectory(path: directory.path, disk: disk, bootIdentity: "boot"), named: "journal")
    var last: JournalFile.Run?
    for start in stride(from: 0, to: 2000, by: 100) as StrideTo<Int64> {
      let run = journal.run(for: start..<start + 100, after: last)
      #expect(run.span == 0..<start + 100)
      var bytes = try #require(try disk.contents(of: "\(directory.path)/journal"))
      let (offset, record) = (Int(run.offset), SpanJournal.record(run.span))
      bytes += [UInt8](repeating: 0, count: max(0, offset + record.count - bytes.count))
      for cut in 0...record.count {
        bytes.replaceSubrange(offset..<offset + cut, with: record[..<cut])
        let upper = SpanJournal.decode(bytes, bootIdentity: "boot").ranges.last?.upperBound ?? 0
        #expect([0, start, start + 100].contains(upper))
      }
      try run.write()
      last = run
    }
    // Bytes that do not follow are recorded elsewhere.
    for number in 0..<1000 as Range<Int64> {
      let other = journal.run(for: number * 5000..<number * 5000 + 100, after: last)
      #expect(other.offset != last?.offset)
      #expect(other.span == number * 5000..<number * 5000 + 100)
      #expect(other.offset % 4096 + Int64(SpanJournal.recordSize) <= 4096)
    }
  }
}
