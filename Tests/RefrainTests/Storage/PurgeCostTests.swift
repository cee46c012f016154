// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks
import Testing

@testable import Refrain

/// The cost of purges in a cache of many entries, in reads of their records.
@Suite(.timeLimit(.minutes(1))) struct PurgeCostTests {
  private static let count = 60
  private let directory = CacheDirectory(length: 2000)

  /// Runs `body` with a cache that has entries.
  private func withEntries(_ body: (MediaCache, WatchedDisk) async throws -> Void) async throws {
    try await directory.fill((0..<Self.count).map(String.init))
    let disk = WatchedDisk()
    try await directory.withCache(disk: disk) { cache in
      try await body(cache, disk)
      disk.fail(nil)
    }
  }

  private func selection(_ names: [String]) throws -> PurgeSelection {
    var selection = PurgeSelection()
    for name in names { selection.keys.insert(CacheKey(url: try directory.url(name))) }
    return selection
  }

  /// Calls `body` before each read of a stored record.
  private func watchRecords(_ disk: WatchedDisk, _ body: @Sendable @escaping () -> Void) {
    disk.fail { operation, path in
      if operation == .openForReading, path.hasSuffix("/\(EntryRecord.fileName)"),
        SystemFiles.status(of: path) != nil
      {
        body()
      }
      return nil
    }
  }

  private func representation(_ number: Int) throws -> Resource {
    let url = try directory.url("\(number)")
    return Resource(url: url, key: CacheKey(rawValue: "\(CacheKey(url: url).rawValue) for:x"))
  }

  @Test func `A purge by many unknown URLs reads no record`() async throws {
    try await withEntries { cache, disk in
      let reads = Atomic(0)
      watchRecords(disk) { reads.add(1, ordering: .relaxed) }
      let selection = try selection((0..<50).map { "unknown-\($0)" })
      #expect(try await cache.purge(selection).entries == 0)
      #expect(reads.load(ordering: .relaxed) == 0)
    }
  }

  @Test func `A purge finds the representations of resources, also of those without an entry`()
    async throws
  {
    try await withEntries { cache, disk in
      for number in 55..<65 { try await cache.prefetch(representation(number)) }
      #expect(try await cache.entries().count == Self.count + 10)
      try await eventually("the entries are closed") { cache.table.isEmpty }
      let reads = Atomic(0)
      watchRecords(disk) { reads.add(1, ordering: .relaxed) }
      let selection = try selection((50..<70).map { "\($0)" })
      #expect(try await cache.purge(selection).entries == 20)
      // To find the representations, and for the key of each entry that is removed.
      #expect(reads.load(ordering: .relaxed) == 10 + 20)
      #expect(try await cache.entries().count == Self.count - 10)
    }
  }

  @Test func `A purge by known and unknown URLs removes the known ones`() async throws {
    try await withEntries { cache, _ in
      let selection = try selection(["1", "unknown", "2"])
      let purged = try await cache.purge(selection)
      #expect(purged.entries == 2 && purged.failures.isEmpty)
      #expect(try await cache.entries().count == Self.count - 2)
    }
  }

  @Test func `A purge that is cancelled reads no further records`() async throws {
    try await withEntries { cache, disk in
      var purged = PurgeSelection()
      purged.insert(prefix: try directory.url("unknown"))
      let selection = purged
      let reads = Atomic(0)
      let purge = Mutex<Task<RemovedEntries, any Error>?>(nil)
      watchRecords(disk) {
        reads.add(1, ordering: .relaxed)
        purge.withLock { $0?.cancel() }
      }
      // Under the lock: the first read waits until the task can be cancelled.
      let task = purge.withLock { purge in
        let task = Task { try await cache.purge(selection) }
        purge = task
        return task
      }
      await #expect(throws: CancellationError.self) { try await task.value }
      // Each thread finishes the record that it is reading.
      #expect(reads.load(ordering: .relaxed) <= StoredEntries.width)
    }
  }
}

struct RepresentationKeyTests {
  @Test(
    arguments: [
      ("a vary:x", true), ("a for:x", true), ("a vary:x for:y", true), ("b for:x vary:y", true),
      ("c vary:x for:y", false), ("c vary:x", false), ("c", false), ("a", false), ("a/b", false),
      ("a/b vary:x", false), ("", false),
    ])
  func `A representation of one of several resources is found`(key: String, isFound: Bool) {
    let keys: Set<CacheKey> = Set(["a", "b", "c vary:x"].map { CacheKey(rawValue: $0) })
    let other = CacheKey(rawValue: key)
    #expect(Selection.isRepresentation(other, ofAny: keys) == isFound)
    #expect(keys.contains { Selection.isRepresentation(other, ofAny: [$0]) } == isFound)
  }
}
