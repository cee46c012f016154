// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks
import TestSupport
import Testing

@testable import Refrain

@Suite(.timeLimit(.minutes(1)))
struct EntrySlotsTests {
  private let directory = CacheDirectory(length: 2000)

  /// - Returns: the largest number of slots seen in use.
  private static func prefetch(
    _ url: URL, _ cache: MediaCache, _ slots: EntrySlots
  ) async throws -> Int {
    let most = Mutex(0)
    try await cache.prefetch(Resource(url: url)) { _ in
      most.withLock { $0 = max($0, slots.taken) }
    }
    return most.withLock { $0 }
  }

  private func withCache(
    _ slots: EntrySlots, _ body: (MediaCache) async throws -> Void
  ) async throws {
    let configuration = TestCache.configuration { $0.transport = directory.transport() }
    let cache = try MediaCache(
      directory: directory.url, configuration: configuration, disk: SystemDisk(), slots: slots)
    try await body(cache)
    await cache.close()
  }

  @Test func `Open entries never exceed the slots, and all prefetches complete`() async throws {
    let slots = EntrySlots { 3 }
    try await withCache(slots) { cache in
      let urls = try (0..<40).map { try directory.url("\($0)") }
      let most = try await withThrowingTaskGroup(of: Int.self) { group in
        for url in urls {
          group.addTask { try await Self.prefetch(url, cache, slots) }
        }
        return try await group.reduce(0, max)
      }
      try await #expect(cache.entries().count == 40)
      #expect((1...3).contains(most))
    }
    #expect(slots.taken == 0 && slots.waiting == 0)
  }

  @Test func `A waiting reader continues when another entry closes`() async throws {
    let slots = EntrySlots { 1 }
    try await withCache(slots) { cache in
      let first = try await cache.open(directory.url("1"))
      _ = try await first.bytes(in: 0..<10)
      let second = Task { [url = try directory.url("2")] in
        let reader = try await cache.open(url)
        defer { reader.cancel() }
        return try await reader.bytes(in: 0..<2000).count
      }
      try await eventually("the second waits") { slots.waiting == 1 }
      // The same resource takes no second slot.
      let again = try await cache.open(directory.url("1"))
      again.cancel()
      first.cancel()
      try await #expect(second.value == 2000)
    }
  }

  @Test func `A wait for a slot can be cancelled, and does not block listing`() async throws {
    let slots = EntrySlots(patience: .seconds(1000)) { 1 }
    try await withCache(slots) { cache in
      let first = try await cache.open(directory.url("1"))
      _ = try await first.bytes(in: 0..<10)
      let second = Task { [url = try directory.url("2")] in try await cache.open(url) }
      try await eventually("the second waits") { slots.waiting == 1 }
      try await #expect(cache.entries().count == 1)
      second.cancel()
      await #expect(throws: CancellationError.self) { try await second.value }
      #expect(slots.waiting == 0 && slots.taken == 1)
      first.cancel()
    }
  }

  @Test func `An idle lease is released for a waiting reader`() async throws {
    let slots = EntrySlots { 1 }
    try await withCache(slots) { cache in
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

  @Test func `A timed-out wait for a slot is an error that names ulimit -n`() async throws {
    let slots = EntrySlots(patience: .milliseconds(20)) { 1 }
    try await withCache(slots) { cache in
      let reader = try await cache.open(directory.url("1"))
      let error = await expectError(.storage) { try await cache.open(directory.url("2")) }
      #expect(error?.description.contains("ulimit -n") == true)
      #expect(slots.waiting == 0)
      reader.cancel()
      try await eventually("the first is closed") { slots.taken == 0 }
      let other = try await cache.open(directory.url("2"))
      other.cancel()
    }
  }
}
