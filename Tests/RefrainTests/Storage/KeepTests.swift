// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// Entries that stay only for a time after their last use (`ResourcePolicy.keep`).
@Suite(.timeLimit(.minutes(1))) struct KeepTests {
  private let directory = CacheDirectory(length: 200_001)
  private let time = TestClock()

  private func resource(_ name: String, keep: Duration? = .seconds(600)) throws -> Resource {
    var resource = Resource(url: try directory.url(name))
    resource.policy.keep = keep
    return resource
  }

  private func withCache(
    limit: Int64? = nil, _ body: (MediaCache) async throws -> Void
  ) async throws {
    try await directory.withCache(limit: limit, { [time] in $0.clock = time.now }, body)
  }

  /// Stores entries, the next one a second after the one before.
  private func store(_ names: [String], keep: Duration?, in cache: MediaCache) async throws {
    for name in names {
      try await cache.prefetch(resource(name, keep: keep))
      let key = try CacheKey(url: directory.url(name))
      try await eventually("\(name) is closed") { cache.table.openEntry(for: key) == nil }
      // Its last use is recorded while it closes.
      _ = await cache.table.settledEntry(for: key)
      time.pass(1)
    }
  }

  @Test func `Once their time is over, entries go when the next one is closed`() async throws {
    try await withCache { cache in
      try await store(["a", "b"], keep: .seconds(600), in: cache)
      try await store(["song"], keep: nil, in: cache)
      time.pass(596)
      try await store(["c"], keep: .seconds(600), in: cache)
      #expect(try directory.stored(of: ["a", "b", "c", "song"]) == ["a", "b", "c", "song"])
      time.pass(1.5)
      try await store(["d"], keep: .seconds(600), in: cache)
      try await eventually("a and b are removed") {
        try directory.stored(of: ["a", "b", "c", "d", "song"]) == ["c", "d", "song"]
      }
    }
  }

  @Test func `An entry that is open, pinned or used again stays`() async throws {
    try await withCache { cache in
      try await store(["open", "pinned", "used", "read", "gone"], keep: .seconds(60), in: cache)
      let reader = try await cache.open(resource("open", keep: .seconds(60)))
      try await cache.pin(resource("pinned", keep: .seconds(60)))
      time.pass(50)
      try await store(["used"], keep: .seconds(60), in: cache)
      // The newest reader's time counts: this one has none.
      try await store(["read"], keep: nil, in: cache)
      time.pass(30)
      try await store(["next"], keep: .seconds(60), in: cache)
      try await eventually("gone is removed") { try directory.stored(of: ["gone"]).isEmpty }
      time.pass(3600)
      try await store(["last"], keep: .seconds(60), in: cache)
      try await eventually("used and next are removed") {
        try directory.stored(of: ["used", "next"]).isEmpty
      }
      let names = ["open", "pinned", "read", "last"]
      let stored = try directory.stored(of: names)
      #expect(stored == names)
      try await directory.expectToPlay(from: reader)
      reader.cancel()
    }
  }

  @Test func `What is over goes before anything else is evicted, in a later process too`()
    async throws
  {
    try await withCache { try await store(["old", "song"], keep: nil, in: $0) }
    try await withCache { try await store(["brief", "late"], keep: .seconds(60), in: $0) }
    time.pass(58.5)
    let limit = directory.allocated + 120_000
    try await withCache(limit: limit) { cache in
      try await cache.prefetch(resource("new", keep: nil))
    }
    let stored = try directory.stored(of: ["old", "song", "brief", "late"])
    #expect(stored == ["old", "song", "late"])
  }

  @Test func `No more of what is over goes for room than is needed`() async throws {
    try await withCache { try await store(["song"], keep: nil, in: $0) }
    try await withCache { try await store(["a", "b"], keep: .seconds(60), in: $0) }
    time.pass(61)
    try await withCache(limit: 1 << 30) { cache in
      let evictor = cache.evictor
      let freed = await Task(executorPreference: IOThreads.shared) {
        await evictor.free(8192)
      }.value
      #expect(freed >= 8192)
      let stored = try directory.stored(of: ["song", "a", "b"])
      #expect(stored.count == 2 && stored.first == "song")
    }
  }

  @Test func `Verifying leaves the mark, and a cut file does not lose it`() async throws {
    try await withCache { cache in
      try await store(["a"], keep: .seconds(60), in: cache)
      #expect(try await cache.verify().map(\.problems) == [[]])
      let file = try directory.dataFile()
      #expect(truncate(file, 100_000) == 0)
      #expect(try await cache.verify().map(\.droppedBytes) == [directory.length - 100_000])
    }
    #expect(try directory.stored().directory.load().files.keep == 60)
  }
}
