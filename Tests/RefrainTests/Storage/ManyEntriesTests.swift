// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks
import Testing

@testable import Refrain

/// The cost of work on all entries of a cache, in system calls per entry, which do not depend on
/// the machine.
@Suite(.timeLimit(.minutes(1)))
struct ManyEntriesTests {
  private static let count = 60

  /// The system's disk, which counts its calls.
  private final class CountingDisk: DiskLayer {
    enum Call: Hashable {
      case open, create, openToLock, remove, status, list, lock, write
    }

    let system = SystemDisk()
    private let counts = Mutex<[Call: Int]>([:])

    private func count(_ call: Call) { counts.withLock { $0[call, default: 0] += 1 } }

    func reset() { counts.withLock { $0 = [:] } }

    subscript(_ call: Call) -> Int { counts.withLock { $0[call] ?? 0 } }

    func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> Int32 {
      switch mode {
      case .read, .readWrite: count(.open)
      case .create: count(.create)
      case .lock: count(.openToLock)
      }
      return try system.open(path, mode)
    }
    func write(
      _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int64
    ) throws(DiskError) {
      count(.write)
      try system.write(bytes, to: descriptor, at: offset)
    }
    func remove(_ path: String) throws(DiskError) {
      count(.remove)
      try system.remove(path)
    }
    func status(of path: String) throws(DiskError) -> FileStatus? {
      count(.status)
      return try system.status(of: path)
    }
    func names(in path: String) throws(DiskError) -> [String] {
      count(.list)
      return try system.names(in: path)
    }
    func lock(_ descriptor: Int32, _ kind: LockKind) throws(DiskError) -> Bool {
      // Those of the bytes of entries are not counted.
      if kind == .shared || kind == .exclusive { count(.lock) }
      return try system.lock(descriptor, kind)
    }
  }

  private let directory = CacheDirectory(length: 2000)

  /// Runs `body` with a cache with entries in several shards.
  private func withEntries(
    limit: Int64? = nil, _ body: (MediaCache, CountingDisk, _ shards: Int) async throws -> Void
  ) async throws {
    try await directory.fill((0..<Self.count).map(String.init))
    let disk = CountingDisk()
    try await directory.withCache(limit: limit, disk: disk) { cache in
      disk.reset()
      try await body(cache, disk, SystemFiles.names(in: "\(directory.path)/entries").count)
    }
  }

  @Test func `A small resource is stored in exactly two files`() async throws {
    let disk = CountingDisk()
    try await directory.withCache(disk: disk) { cache in
      for number in 0..<Self.count { try await cache.prefetch(directory.url("\(number)")) }
    }
    for number in 0..<Self.count {
      let path = try directory.stored("\(number)").directory.path
      #expect(SystemFiles.names(in: path).count == 2)
    }
    // Besides the data, the journal, and the record at the beginning and at the end.
    #expect(disk[.create] == 4 * Self.count)
    #expect(disk[.remove] == Self.count)
  }

  @Test func `Listing opens two files per entry`() async throws {
    try await withEntries { cache, disk, shards in
      try await #expect(cache.entries().count == Self.count)
      // The record, and the locks.
      #expect(disk[.open] == 2 * Self.count)
      #expect(disk[.list] == Self.count + shards + 1)
      #expect(disk[.status] <= 4 * Self.count)
      #expect(disk[.lock] == 0 && disk[.create] == 0 && disk[.openToLock] == 0)
    }
  }

  @Test func `A listing with usage scans each entry once`() async throws {
    try await withEntries { cache, disk, shards in
      let (entries, usage) = try await cache.listing()
      #expect(entries.count == Self.count && usage.entries == Self.count)
      #expect(usage.allocatedBytes == entries.reduce(0) { $0 + $1.allocatedBytes })
      #expect(disk[.list] == Self.count + shards + 1)
      try await #expect(cache.usage() == usage)
    }
  }

  @Test func `Verifying intact entries writes nothing`() async throws {
    try await withEntries { cache, disk, _ in
      let results = try await cache.verify()
      #expect(results.count == Self.count && results.allSatisfy(\.problems.isEmpty))
      // The record, and the data file for its holes.
      #expect(disk[.open] == 2 * Self.count)
      #expect(disk[.openToLock] <= Self.count)
      #expect(disk[.lock] == 0 && disk[.create] == 0)
      #expect(disk[.write] == 0 && disk[.remove] == 0)
    }
  }

  @Test func `Removing all opens one file per entry`() async throws {
    try await withEntries { cache, disk, _ in
      try await #expect(cache.removeAll() > 0)
      try await #expect(cache.entries().isEmpty)
      // The record, for its key.
      #expect(disk[.open] == Self.count)
      // The record of the removal.
      #expect(disk[.create] == 1)
      // The record, the data, the directory and the shard.
      #expect(disk[.remove] == 4 * Self.count)
      #expect(SystemFiles.names(in: "\(directory.path)/entries").isEmpty)
    }
  }

  @Test func `Evicting all entries opens each file once`() async throws {
    try await withEntries(limit: 200 << 10) { cache, disk, _ in
      _ = await cache.budget.rescan()
      disk.reset()
      await #expect(cache.evictor.free(.max) > 0)
      try await #expect(cache.entries().isEmpty)
      // The record, and the data file to lock it.
      #expect(disk[.open] <= 2 * Self.count)
      #expect(disk[.list] <= 3 * Self.count + 2)
      // The lock of the entry, and the count of the directory before and after.
      #expect(disk[.openToLock] <= 3 * Self.count + 8)
    }
  }

  @Test func `Removing and verifying report progress for each entry`() async throws {
    try await withEntries { cache, _, _ in
      for removes in [false, true] {
        let reports = Mutex<[MediaCache.EntryProgress]>([])
        if removes {
          try await cache.removeAll { report in reports.withLock { $0.append(report) } }
        } else {
          _ = try await cache.verify { report in reports.withLock { $0.append(report) } }
        }
        let all = reports.withLock(\.self)
        #expect(all.map(\.done).sorted() == Array(1...Self.count))
        #expect(all.allSatisfy { $0.total == Self.count })
      }
    }
  }
}
