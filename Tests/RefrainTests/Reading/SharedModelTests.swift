// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

/// Several caches in one directory, each with a limit, through random operations: every byte is
/// right, the limit holds at every instant, and the counted size falls short of the size on disk by
/// no more than the reserve below the limit.
@Suite(.timeLimit(.minutes(TestSeed.isSoak ? 60 : 3)))
struct SharedModelTests {
  private static let limit: Int64 = 3 << 20
  private static let lengths: [Int64] = [700_001, 1_500_003, 65_536, 2_200_019, 9_000_011, 2000]

  @Test func `Caches that share a directory keep its limit under random operations`() async throws {
    let seed = TestSeed.next()
    print("REFRAIN_SEED=\(seed) (caches that share a directory)")
    for round in 0..<(TestSeed.isSoak ? 60 : 3) {
      try await run(seed &+ UInt64(round))
    }
  }

  private func url(_ index: Int) throws -> URL {
    try #require(URL(string: "http://origin.test/\(index).wav"))
  }

  private func run(_ seed: UInt64) async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let path = directory.path(percentEncoded: false)
    let worst = Mutex((over: Int64.min, uncounted: Int64.min))
    let disk = WatchedDisk { _ in
      let now = allocatedBytes(path)
      guard let bytes = try? SystemDisk().contents(of: "\(path)/usage"),
        let record = UsageRecord.decode(bytes)
      else { return }
      worst.withLock { worst in
        worst.over = max(worst.over, now - Self.limit)
        worst.uncounted = max(worst.uncounted, now - record.used)
      }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<3 as Range<UInt64> {
        group.addTask {
          try await live(directory, disk, SeededGenerator(seed: seed &* 10 &+ number), seed)
        }
      }
      try await group.waitForAll()
    }
    let (over, uncounted) = worst.withLock { $0 }
    #expect(over <= 0, "seed \(seed)")
    // At most the reserve below the limit.
    #expect(uncounted <= 32 << 10, "seed \(seed)")
    for index in Self.lengths.indices {
      let bytes = SyntheticBytes(seed: UInt64(index))
      #expect(try StoredBytes(directory, url(index)).firstWrongByte(bytes) == nil, "seed \(seed)")
    }
  }

  /// Runs one cache after another, like a process that is restarted again and again.
  private func live(
    _ directory: URL, _ disk: any Disk, _ generator: SeededGenerator, _ seed: UInt64
  ) async throws {
    var random = generator
    for _ in 0..<2 {
      let caches = try Self.lengths.enumerated().map { index, length in
        let transport = MemoryTransport(seed: UInt64(index), length: length)
        return try MediaCache(
          directory: directory,
          configuration: TestCache.configuration {
            $0.transport = transport
            $0.limit = Self.limit
            $0.trustStored = true
          }, disk: disk)
      }
      for _ in 0..<8 {
        let index = Int.random(in: 0..<caches.count, using: &random)
        try await act(caches[index], index, &random, seed)
      }
      for cache in caches { await cache.close() }
    }
  }

  private func act(
    _ cache: MediaCache, _ index: Int, _ random: inout SeededGenerator, _ seed: UInt64
  ) async throws {
    let length = Self.lengths[index]
    let start = Int64.random(in: 0..<length, using: &random)
    let range = start..<min(length, start + Int64.random(in: 1...900_000, using: &random))
    let resource = Resource(url: try url(index))
    do {
      switch Int.random(in: 0..<6, using: &random) {
      case 0: try await cache.remove(cache.key(for: resource))
      case 1: try await cache.prefetch(resource, range: range)
      default:
        let reader = try await cache.open(resource)
        let read = try await reader.bytes(in: range)
        #expect(
          [UInt8](read) == SyntheticBytes(seed: UInt64(index)).bytes(in: range), "seed \(seed)")
        reader.cancel()
      }
    } catch let error as MediaCacheError where [.inUse, .storage].contains(error.code) {
      // Another cache holds the entry, or entries in use reach the limit.
    }
  }
}
