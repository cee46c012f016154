// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Entries that close while they are looked at, or removed.
@Suite(.timeLimit(.minutes(1))) struct ClosingEntryTests {
  private final class LateReader: Sendable {
    private let reader = Mutex<MediaReader?>(nil)

    func set(_ reader: MediaReader) { self.reader.withLock { $0 = reader } }

    func cancel() { reader.withLock { $0 }?.cancel() }
  }

  @Test func `An entry that closes while it is looked at is looked at again`() async throws {
    let directory = CacheDirectory(length: 2000)
    let (disk, url) = (WatchedDisk(), try directory.url())
    try await directory.withCache(disk: disk) { cache in
      // What is stored is known in memory alone until the entry closes: only the header of the
      // journal is written.
      let journalWrites = Atomic(0)
      disk.fail { operation, path in
        guard operation == .write, path.hasSuffix(SpanJournal.suffix) else { return nil }
        return journalWrites.add(1, ordering: .relaxed).newValue > 1 ? EIO : nil
      }
      let reader = try await cache.open(url)
      try await directory.expectToPlay(from: reader)
      let key = CacheKey(url: url)
      #expect(try await cache.entry(for: key)?.cachedBytes == directory.length)

      // The record is read with the list of files, then before and after the journals.
      let reads = Atomic(0)
      disk.afterClosing { path in
        guard path.hasSuffix("/\(EntryRecord.fileName)"),
          reads.add(1, ordering: .relaxed).newValue == 3
        else { return }
        reader.cancel()
        while !cache.table.isEmpty { Thread.sleep(forTimeInterval: 0.001) }
      }
      let entry = try await cache.entry(for: key)
      #expect(cache.table.isEmpty)
      #expect(entry?.cachedBytes == directory.length)
      disk.fail(nil)
      disk.afterClosing(nil)
    }
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
      let freed = try await cache.stored.remove(key, at: cache.now.wall)
      #expect((freed ?? 0) > 0)
      third.cancel()
      try await eventually("the entry is closed") { cache.table.isEmpty }
      #expect(try await cache.entry(for: key) == nil)
    }
  }
}
