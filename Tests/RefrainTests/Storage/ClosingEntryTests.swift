// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

/// Entries that close while they are removed.
@Suite(.timeLimit(.minutes(1))) struct ClosingEntryTests {
  private final class LateReader: Sendable {
    private let reader = Mutex<MediaReader?>(nil)

    func set(_ reader: MediaReader) { self.reader.withLock { $0 = reader } }

    func cancel() { reader.withLock { $0 }?.cancel() }
  }

  @Test func `An entry whose last reader leaves is removed before it opens again`() async throws {
    let directory = CacheDirectory(length: 300_000)
    let (disk, url) = (WatchedDisk(), try directory.url())
    try await directory.withCache(disk: disk) { cache in
      let first = try await cache.open(url)
      _ = try await first.bytes(in: 0..<10)
      first.cancel()
      try await eventually("the entry is closed") { cache.table.isEmpty }

      let key = CacheKey(url: url)
      let name = KeyHash.name(of: key)
      let second = try await cache.open(url)
      _ = try await second.bytes(in: 0..<10)
      let entry = try #require(cache.table.openEntry(for: key))
      let steps = Atomic(0)
      let third = LateReader()
      disk.fail { _, path in
        guard path.contains(name), steps.add(1, ordering: .relaxed).newValue == 1 else {
          return nil
        }
        second.cancel()
        guard entry.isClosed else { return nil }
        let isWriting = DispatchSemaphore(value: 0)
        Task {
          let reader = try await cache.open(url)
          third.set(reader)
          _ = try await reader.bytes(in: 200_000..<200_010)
          isWriting.signal()
        }
        isWriting.wait()
        return nil
      }
      let removed = try await cache.stored.remove([name], at: cache.now.wall)
      #expect(removed.freedBytes > 0)
      third.cancel()
      try await eventually("the entry is closed") { cache.table.isEmpty }
      #expect(try await cache.entry(for: key) == nil)
    }
  }
}
