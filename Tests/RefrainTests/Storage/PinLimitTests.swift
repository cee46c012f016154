// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// Pins beyond the limit are refused, and the other resources use the rest of it.
@Suite(.timeLimit(.minutes(1)))
struct PinLimitTests {
  private let directory = CacheDirectory(length: 2_000_000)
  private var length: Int64 { directory.length }

  @Test func `A resource larger than the limit is refused before it is stored`() async throws {
    let origin = directory.transport()
    try await directory.withCache(limit: 1_000_000, transport: origin) { cache in
      let error = await expectError(.storage) { try await cache.pin(directory.url()) }
      #expect(
        error?.reason
          == "http://origin.test/a.wav cannot be pinned: it takes 1961 KiB, and other pinned "
          + "entries take 0 KiB of the limit of 976 KiB.")
      #expect(error?.remedy == "Raise the limit, or unpin or remove other entries.")
      #expect(origin.received.byteCount < length / 2)
      try await #expect(cache.usage().pinnedBytes == 0)
    }
  }

  @Test func `A pin that does not fit beside the others is refused`() async throws {
    try await directory.withCache(limit: 5_000_000) { cache in
      // Each claims its whole length, however little of it is stored.
      for name in ["a", "b"] { try await cache.pin(directory.url(name)) }
      // While the usage is not known, a player waits a second at most, and stores nothing.
      await cache.budget.startScan().value
      try await directory.expectToPlay("c", from: cache)
      let error = await expectError(.storage) {
        try await cache.pin(CacheKey(url: directory.url("c")))
      }
      // Stored bytes take up to a block more.
      #expect(error?.reason.contains("other pinned entries take 39") == true)
      try await #expect(cache.entry(for: directory.url("c"))?.isPinned == false)
      try await eventually("the entries are closed") { cache.table.isEmpty }
      // The room is left for the pinned ones.
      for name in ["a", "b"] {
        try await cache.prefetch(directory.url(name))
        try await #expect(cache.entry(for: directory.url(name))?.isComplete == true)
      }
      try await cache.unpin(directory.url("a"))
      try await cache.pin(directory.url("c"))
      try await #expect(cache.entry(for: directory.url("c"))?.isPinned == true)
      // A pin that exists is never refused.
      await cache.setLimit(1_000_000)
      try await cache.pin(directory.url("c"))
    }
  }

  @Test func `Pins set at the same time do not exceed the limit together`() async throws {
    try await directory.withCache(limit: 5_000_000) { cache in
      let urls = try (0..<8).map { try directory.url("\($0)") }
      let pinned = await withTaskGroup(of: Bool.self) { group in
        for url in urls {
          group.addTask {
            do {
              try await cache.pin(url)
              return true
            } catch { return false }
          }
        }
        return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
      }
      #expect(pinned == 2)
      try await #expect(cache.entries().count(where: \.isPinned) == 2)
    }
  }

  @Test func `Another cache's pins count when an entry is pinned`() async throws {
    try await directory.withCache(limit: 5_000_000) { cache in
      try await directory.withCache(limit: 5_000_000) { other in
        for name in ["a", "b"] { try await other.pin(directory.url(name)) }
      }
      await expectError(.storage) { try await cache.pin(directory.url("c")) }
    }
  }

  @Test
  func `A resource without room beside pinned ones plays without being stored`() async throws {
    try await directory.withCache(limit: 3_000_000) { cache in
      try await cache.pin(directory.url("a"))
      try await cache.prefetch(directory.url("a"))
      try await directory.expectToPlay("b", from: cache)
      let error = await expectError(.storage) { try await cache.prefetch(directory.url("c")) }
      #expect(error?.hasNoRoom == true)
      #expect(directory.allocated <= 3_000_000)
    }
    #expect(try directory.isWhole())
  }

  @Test func `A limit set below the pinned bytes evicts the others only`() async throws {
    try await directory.withCache { cache in
      for name in ["a", "b"] { try await cache.prefetch(directory.url(name)) }
      try await cache.pin(directory.url("a"))
      try await eventually("the entries are closed") { cache.table.isEmpty }
      await #expect(!cache.setLimit(1_000_000))
      try await #expect(cache.entries().map(\.url) == [directory.url("a")])
      try await #expect(cache.entry(for: directory.url("a"))?.isComplete == true)
    }
  }

  @Test func `Without a limit anything can be pinned`() async throws {
    try await directory.withCache { cache in
      for name in ["a", "b", "c"] { try await cache.pin(directory.url(name)) }
      try await #expect(cache.entries().allSatisfy(\.isPinned))
    }
  }

  @Test func `Huge lengths in damaged records do not overflow the sum of the claims`() {
    let claim = EntryDirectory.pinnedBytes(allocated: 4096, length: .max)
    #expect(claim > 1 << 40)
    var index = EntryIndex()
    for number in 0..<1000 {
      index.note(
        .init(name: "\(number)", lastAccess: 0, allocatedBytes: 4096, pinnedBytes: claim))
    }
    #expect(index.pinnedBytes(except: ["0"]) == claim * 999)
    #expect(EntryDirectory.pinnedBytes(allocated: 4096, length: nil) == 8192)
    #expect(EntryDirectory.pinnedBytes(allocated: 1 << 20, length: 5) == 1 << 20)
  }
}
