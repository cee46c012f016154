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
  private func withCache(
    length: Int64, _ body: (MediaCache, WatchedDisk, Resource) async throws -> Void
  ) async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let disk = WatchedDisk()
    let cache = try MediaCache(
      directory: directory,
      configuration: TestCache.configuration {
        $0.transport = MemoryTransport(seed: 1, length: length)
        $0.fill = .onDemand
      }, disk: disk)
    try await body(
      cache, disk, Resource(url: try #require(URL(string: "http://origin.test/a.wav"))))
    disk.fail(nil)
    disk.afterClosing(nil)
    await cache.close()
  }

  private final class LateReader: Sendable {
    private let reader = Mutex<MediaReader?>(nil)

    func set(_ reader: MediaReader) { self.reader.withLock { $0 = reader } }

    func cancel() { reader.withLock { $0 }?.cancel() }
  }

  @Test func `An entry that closes while it is looked at is looked at again`() async throws {
    let length: Int64 = 2000
    try await withCache(length: length) { cache, disk, resource in
      // What is stored is known in memory alone until the entry closes: only the header of the
      // journal is written.
      let journalWrites = Atomic(0)
      disk.fail { operation, path in
        guard operation == .write, path.hasSuffix(SpanJournal.suffix) else { return nil }
        return journalWrites.add(1, ordering: .relaxed).newValue > 1 ? EIO : nil
      }
      let reader = try await cache.open(resource)
      #expect(try await reader.bytes(in: 0..<length).count == Int(length))
      let key = cache.key(for: resource)
      #expect(try await cache.entry(for: key)?.cachedBytes == length)

      // The record is read with the list of files, then before and after the journals.
      let reads = Atomic(0)
      disk.afterClosing { path in
        guard path.hasSuffix("/\(EntryRecord.fileName)"),
          reads.add(1, ordering: .relaxed).newValue == 3
        else { return }
        reader.cancel()
        while !cache.context.table.isEmpty { Thread.sleep(forTimeInterval: 0.001) }
      }
      let entry = try await cache.entry(for: key)
      #expect(cache.context.table.isEmpty)
      #expect(entry?.cachedBytes == length)
    }
  }

  @Test func `An entry whose last reader leaves is removed before it opens again`() async throws {
    let length: Int64 = 300_000
    try await withCache(length: length) { cache, disk, resource in
      let first = try await cache.open(resource)
      _ = try await first.bytes(in: 0..<10)
      first.cancel()
      try await eventually("the entry is closed") { cache.context.table.isEmpty }

      let key = cache.key(for: resource)
      let name = KeyHash.name(of: key)
      let second = try await cache.open(resource)
      _ = try await second.bytes(in: 0..<10)
      let entry = try #require(cache.context.table.openEntry(for: key))
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
          let reader = try await cache.open(resource)
          third.set(reader)
          _ = try await reader.bytes(in: 200_000..<200_010)
          isWriting.signal()
        }
        isWriting.wait()
        return nil
      }
      let freed = try await Removal(context: cache.context).remove(name, key)
      #expect((freed ?? 0) > 0)
      third.cancel()
      try await eventually("the entry is closed") { cache.context.table.isEmpty }
      #expect(try await cache.entry(for: key) == nil)
    }
  }
}
