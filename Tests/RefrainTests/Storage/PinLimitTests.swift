// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Pins beyond the limit are refused, and the other resources use the rest of it.
@Suite(.timeLimit(.minutes(1)))
struct PinLimitTests {
  private let length: Int64 = 2_000_000
  private let bytes = SyntheticBytes(seed: 1)

  private func url(_ name: String) throws -> URL {
    try #require(URL(string: "http://origin.test/\(name).wav"))
  }

  private func withCache(
    limit: Int64?, _ body: (URL, MediaCache, MemoryTransport) async throws -> Void
  ) async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = MemoryTransport(seed: 1, length: length)
    let configuration = TestCache.configuration {
      $0.transport = origin
      $0.limit = limit
      $0.trustStored = true
    }
    let cache = try MediaCache(directory: directory, configuration: configuration)
    try await body(directory, cache, origin)
    await cache.close()
  }

  private func refusal(_ pin: () async throws -> Void) async throws -> MediaCacheError {
    let error = await #expect(throws: MediaCacheError.self) { try await pin() }
    return try #require(error)
  }

  @Test func `A resource larger than the limit is refused before it is stored`() async throws {
    try await withCache(limit: 1_000_000) { _, cache, origin in
      let error = try await refusal { try await cache.pin(url("a")) }
      #expect(error.code == .storage)
      #expect(
        error.reason
          == "http://origin.test/a.wav cannot be pinned: it takes 1961 KiB, and other pinned "
          + "entries take 0 bytes of the limit of 976 KiB.")
      #expect(error.remedy == "Raise the limit, or unpin or remove other entries.")
      #expect(origin.received.byteCount < length / 2)
      try await #expect(cache.usage().pinnedBytes == 0)
    }
  }

  @Test func `A pin that does not fit beside the others is refused`() async throws {
    try await withCache(limit: 5_000_000) { _, cache, _ in
      // Each claims its whole length, however little of it is stored.
      for name in ["a", "b"] { try await cache.pin(url(name)) }
      let reader = try await cache.open(url("c"))
      _ = try await reader.bytes(in: 0..<length)
      reader.cancel()
      let error = try await refusal { _ = try await cache.pin(CacheKey(url: url("c"))) }
      // Stored bytes take up to a block more.
      #expect(error.code == .storage && error.reason.contains("other pinned entries take 39"))
      try await #expect(cache.entry(for: url("c"))?.isPinned == false)
      try await eventually("the entries are closed") { cache.context.table.isEmpty }
      // The room is left for the pinned ones.
      for name in ["a", "b"] {
        try await cache.prefetch(url(name))
        try await #expect(cache.entry(for: url(name))?.isComplete == true)
      }
      try await cache.unpin(url("a"))
      try await cache.pin(url("c"))
      try await #expect(cache.entry(for: url("c"))?.isPinned == true)
      // A pin that exists is never refused.
      await cache.setLimit(1_000_000)
      try await cache.pin(url("c"))
    }
  }

  @Test func `Pins set at the same time do not exceed the limit together`() async throws {
    try await withCache(limit: 5_000_000) { _, cache, _ in
      let urls = try (0..<8).map { try url("\($0)") }
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
    try await withCache(limit: 5_000_000) { directory, cache, origin in
      let configuration = TestCache.configuration {
        $0.transport = origin
        $0.limit = 5_000_000
      }
      let other = try MediaCache(directory: directory, configuration: configuration)
      for name in ["a", "b"] { try await other.pin(url(name)) }
      await other.close()
      let error = try await refusal { try await cache.pin(url("c")) }
      #expect(error.code == .storage)
    }
  }

  @Test
  func `A resource without room beside pinned ones plays without being stored`() async throws {
    try await withCache(limit: 3_000_000) { directory, cache, _ in
      try await cache.pin(url("a"))
      try await cache.prefetch(url("a"))
      let reader = try await cache.open(url("b"))
      try await #expect([UInt8](reader.bytes(in: 0..<length)) == bytes.bytes(in: 0..<length))
      reader.cancel()
      let error = try await refusal { try await cache.prefetch(url("c")) }
      #expect(error.code == .storage)
      #expect(error.reason.contains("the limit of the cache is 2929 KiB, of which pinned entries"))
      let stored = try StoredBytes(directory, url("a"))
      #expect(try stored.spans() == RangeSet(0..<length))
      #expect(try stored.firstWrongByte(bytes) == nil)
      #expect(allocatedBytes(directory.path(percentEncoded: false)) <= 3_000_000)
    }
  }

  @Test func `A limit set below the pinned bytes evicts the others only`() async throws {
    try await withCache(limit: nil) { _, cache, _ in
      for name in ["a", "b"] { try await cache.prefetch(url(name)) }
      try await cache.pin(url("a"))
      try await eventually("the entries are closed") { cache.context.table.isEmpty }
      await #expect(!cache.setLimit(1_000_000))
      try await #expect(cache.entries().map(\.url) == [url("a")])
      try await #expect(cache.entry(for: url("a"))?.isComplete == true)
    }
  }

  @Test func `Without a limit anything can be pinned`() async throws {
    try await withCache(limit: nil) { _, cache, _ in
      for name in ["a", "b", "c"] { try await cache.pin(url(name)) }
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
    #expect(index.pinnedBytes(except: "0") == claim * 999)
    #expect(EntryDirectory.pinnedBytes(allocated: 4096, length: nil) == 8192)
    #expect(EntryDirectory.pinnedBytes(allocated: 1 << 20, length: 5) == 1 << 20)
  }
}
