// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks
import TestSupport
import Testing

@testable import Refrain

@Suite(.timeLimit(.minutes(1)))
struct OpenEntriesTests {
  private let directory = CacheDirectory(length: 2000)

  /// - Returns: the largest number of open entries seen.
  private static func prefetch(
    _ url: URL, _ cache: MediaCache
  ) async throws -> Int {
    let most = Mutex(0)
    try await cache.prefetch(Resource(url: url)) { _ in
      most.withLock { $0 = max($0, cache.table.count) }
    }
    return most.withLock { $0 }
  }

  private func withCache(
    room entries: Int, patience: Duration = .seconds(30),
    _ body: (MediaCache) async throws -> Void
  ) async throws {
    let configuration = TestCache.configuration { $0.transport = directory.transport() }
    let cache = try MediaCache(
      directory: directory.url, configuration: configuration, disk: SystemDisk(),
      table: EntryTable(most: { entries }, patience: patience))
    try await body(cache)
    await cache.close()
  }

  @Test func `Open entries never exceed the room, and all prefetches complete`() async throws {
    try await withCache(room: 3) { cache in
      let urls = try (0..<40).map { try directory.url("\($0)") }
      let most = try await withThrowingTaskGroup(of: Int.self) { group in
        for url in urls {
          group.addTask { try await Self.prefetch(url, cache) }
        }
        return try await group.reduce(0, max)
      }
      try await #expect(cache.entries().count == 40)
      #expect((1...3).contains(most))
    }
  }

  @Test func `A waiting reader continues when another entry closes`() async throws {
    try await withCache(room: 1) { cache in
      let first = try await cache.open(directory.url("1"))
      _ = try await first.bytes(in: 0..<10)
      let second = Task { [url = try directory.url("2")] in
        let reader = try await cache.open(url)
        defer { reader.cancel() }
        return try await reader.bytes(in: 0..<2000).count
      }
      try await cache.waitForWaiter()
      // The same resource takes no more room.
      let again = try await cache.open(directory.url("1"))
      again.cancel()
      first.cancel()
      try await #expect(second.value == 2000)
    }
  }

  @Test func `A wait for room can be cancelled, and does not block listing`() async throws {
    try await withCache(room: 1, patience: .seconds(1000)) { cache in
      let first = try await cache.open(directory.url("1"))
      _ = try await first.bytes(in: 0..<10)
      let second = Task { [url = try directory.url("2")] in try await cache.open(url) }
      try await cache.waitForWaiter()
      try await #expect(cache.entries().count == 1)
      second.cancel()
      await #expect(throws: CancellationError.self) { try await second.value }
      #expect(cache.table.count == 1)
      first.cancel()
    }
  }

  @Test func `An idle lease is released for a waiting reader`() async throws {
    try await withCache(room: 1) { cache in
      let reader = try await cache.open(directory.url("1"))
      _ = try await reader.bytes(in: 0..<10)
      let held = Mutex(cache.hold(reader))
      #expect(held.withLock { $0 } != nil)
      let id = cache.releaseIdleLeases { held.withLock { $0.take() } != nil }
      reader.cancel()
      let other = try await cache.open(directory.url("2"))
      try await #expect(other.bytes(in: 0..<2000).count == 2000)
      other.cancel()
      cache.forgetIdleLeases(id)
    }
  }

  @Test func `A timed-out wait for room is an error that names ulimit -n`() async throws {
    try await withCache(room: 1, patience: .milliseconds(20)) { cache in
      let reader = try await cache.open(directory.url("1"))
      let error = await expectError(.storage) { try await cache.open(directory.url("2")) }
      #expect(error?.description.contains("ulimit -n") == true)
      reader.cancel()
      try await eventually("the first is closed") { cache.table.count == 0 }
      let other = try await cache.open(directory.url("2"))
      other.cancel()
    }
  }
}

extension MediaCache {
  /// Waits until somebody waits for one more entry to be open: asks for idle entries all the time.
  fileprivate func waitForWaiter() async throws {
    let isAsked = Mutex(false)
    let id = releaseIdleLeases {
      isAsked.withLock { $0 = true }
      return false
    }
    try await eventually("somebody waits") { isAsked.withLock(\.self) }
    forgetIdleLeases(id)
  }
}
