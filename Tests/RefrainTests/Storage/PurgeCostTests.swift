// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks
import Testing

@testable import Refrain

/// The cost of purges by URL in a cache of many entries, in reads of their records.
@Suite(.timeLimit(.minutes(1))) struct PurgeCostTests {
  private static let count = 60
  /// The record is compared with itself after its journals were read.
  private static let readsPerRecord = 2

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

  @Test func `A purge by many unknown URLs reads each record once`() async throws {
    try await withEntries { cache, disk in
      let reads = Atomic(0)
      watchRecords(disk) { reads.add(1, ordering: .relaxed) }
      let selection = try selection((0..<50).map { "unknown-\($0)" })
      #expect(try await cache.purge(selection).entries == 0)
      #expect(reads.load(ordering: .relaxed) == Self.count * Self.readsPerRecord)
    }
  }

  @Test func `A further purge reads the records of new entries only`() async throws {
    try await withEntries { cache, disk in
      _ = try await cache.purge(try selection(["unknown"]))
      try await cache.prefetch(directory.url("new"))
      try await eventually("the entry is closed") { cache.table.isEmpty }
      let reads = Atomic(0)
      watchRecords(disk) { reads.add(1, ordering: .relaxed) }
      for _ in 0..<2 {
        _ = try await cache.purge(try selection(["unknown", "other"]))
      }
      #expect(reads.load(ordering: .relaxed) == Self.readsPerRecord)
    }
  }

  @Test func `What a search remembers of the entries is forgotten after a while`() async throws {
    try await withEntries { cache, _ in
      let (budget, searched) = (cache.budget, try selection(["unknown"]).keys)
      let patient = RepresentationKeys()
      _ = try await patient.representations(of: searched, in: budget)
      #expect(patient.count == Self.count)

      let forgetful = RepresentationKeys(patience: .zero)
      _ = try await forgetful.representations(of: searched, in: budget)
      try await eventually("everything is forgotten") { forgetful.count == 0 }
      _ = try await forgetful.representations(of: searched, in: budget)
      try await eventually("everything is forgotten again") { forgetful.count == 0 }
    }
  }

  @Test func `A purge finds representations that are forgotten, and stored, meanwhile`()
    async throws
  {
    try await withEntries { cache, disk in
      func key(_ number: Int) throws -> CacheKey {
        CacheKey(rawValue: "\(CacheKey(url: try directory.url("\(number)")).rawValue) for:x")
      }
      for number in 0..<5 {
        try await cache.prefetch(Resource(url: directory.url("\(number)"), key: try key(number)))
      }
      let keys = cache.representationKeys
      // All but the new entries are remembered at first.
      _ = try await keys.representations(of: [], in: cache.budget)
      for number in 5..<10 {
        try await cache.prefetch(Resource(url: directory.url("\(number)"), key: try key(number)))
      }
      watchRecords(disk) { keys.forget() }
      let selection = try selection((0..<10).map { "\($0)" })
      #expect(try await cache.purge(selection).entries == 20)
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
      let selection = try selection(["unknown"])
      let reads = Atomic(0)
      let purge = Mutex<Task<MediaCache.Removed, any Error>?>(nil)
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
      #expect(reads.load(ordering: .relaxed) <= Sweep.width * Self.readsPerRecord)
    }
  }
}

struct RepresentationKeyTests {
  @Test(
    arguments: [
      ("a vary:x", true), ("a for:x", true), ("a vary:x for:y", true), ("b for:x vary:y", true),
      ("c vary:x for:y", true), ("c vary:x", false), ("c", false), ("a", false), ("a/b", false),
      ("a/b vary:x", false), ("", false),
    ])
  func `A representation of one of several resources is found`(key: String, isFound: Bool) {
    let keys: Set<CacheKey> = Set(["a", "b", "c vary:x"].map { CacheKey(rawValue: $0) })
    let other = CacheKey(rawValue: key)
    #expect(Selection.isRepresentation(other, ofAny: keys) == isFound)
    #expect(keys.contains { Selection.isRepresentation(other, of: $0) } == isFound)
  }
}
