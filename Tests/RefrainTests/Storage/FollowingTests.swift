// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

/// A resource that another process is storing: a cache waits for it instead of fetching it twice,
/// and takes over when the other ends. A second cache in this process stands for the other process,
/// because the locks are flock(2)'s; where it is killed, it is a process.
@Suite(.timeLimit(.minutes(1)))
struct FollowingTests {
  private let length: Int64 = 4_000_037
  private let bytes = SyntheticBytes(seed: 1)

  private func withTwoCaches(
    bytesPerSecond: Int? = nil, writerSilence: Duration = .seconds(100),
    disk: any Disk = SystemDisk(),
    _ body: (URL, OriginServer, URL, MediaCache, MediaCache) async throws -> Void
  ) async throws {
    try await withCache { test in
      var resource = OriginResource.synthetic(seed: 1, length: length)
      resource.bytesPerSecond = bytesPerSecond
      resource.headers.append(Field("Cache-Control", "max-age=3600"))
      test.origin.serve(resource, at: "/a.wav")
      let configuration = TestCache.configuration { $0.writerSilence = writerSilence }
      let caches = try (0..<2).map { _ in
        try MediaCache(directory: test.directory, configuration: configuration, disk: disk)
      }
      try await body(
        test.directory, test.origin, test.origin.url("/a.wav"), caches[0], caches[1])
      for cache in caches { await cache.close() }
    }
  }

  /// Counts the attempts to lock an entry's writer: a waiting cache retries a few times in every
  /// `EntryStorage.followInterval`.
  private final class LockTries: Sendable {
    let disk = WatchedDisk()
    private let tries = Mutex(0)

    init() {
      disk.fail { [weak self] operation, path in
        if operation == .lock, path.hasSuffix("/locks") { self?.tries.withLock { $0 += 1 } }
        return nil
      }
    }

    var count: Int { tries.withLock { $0 } }
  }

  @Test func `A prefetch waits for another writer and takes over when it ends`() async throws {
    let tries = LockTries()
    try await withTwoCaches(disk: tries.disk) { directory, origin, url, first, second in
      let writer = try await first.open(url)
      // The prefetch sends any later request itself.
      _ = try await writer.bytes(in: 0..<500_000)
      let log = try await origin.wait(for: "/a.wav") { $0.running == 0 }
      let before = tries.count
      let isOver = Mutex(false)
      let prefetch = Task {
        defer { isOver.withLock { $0 = true } }
        return try await second.prefetch(url)
      }
      // Longer than a prefetch waits before it gives up on bytes that cannot be stored.
      try await eventually("the prefetch waits") {
        tries.count > before + 200 || isOver.withLock { $0 }
      }
      #expect(!isOver.withLock { $0 })
      #expect(origin.log("/a.wav").requests.count == log.requests.count)
      writer.cancel()
      await first.close()
      _ = try await prefetch.value
      let all = try await origin.wait(for: "/a.wav") { $0.running == 0 }
      #expect(all.bytesSentTwice == 0)
      #expect(try StoredBytes(directory, url).firstWrongByte(bytes) == nil)
      #expect(try await second.completeFile(for: CacheKey(url: url)) != nil)
    }
  }

  @Test func `Two concurrent prefetches fetch every byte once`() async throws {
    try await withTwoCaches(bytesPerSecond: 2_000_000) { directory, origin, url, first, second in
      try await concurrently(2) { try await [first, second][$0].prefetch(url) }
      let log = try await origin.wait(for: "/a.wav") { $0.running == 0 }
      #expect(log.bytesSentTwice == 0)
      #expect(log.bodyBytesSent == length)
      await first.close()
      await second.close()
      #expect(try StoredBytes(directory, url).spans() == RangeSet(0..<length))
      #expect(try StoredBytes(directory, url).firstWrongByte(bytes) == nil)
    }
  }

  @Test
  func `Concurrent prefetches without a validator succeed and store the resource`() async throws {
    try await withCache { test in
      var resource = OriginResource.synthetic(seed: 1, length: length)
      resource.bytesPerSecond = 8_000_000
      (resource.etag, resource.lastModified) = (nil, nil)
      test.origin.serve(resource, at: "/a.wav")
      let url = test.origin.url("/a.wav")
      let caches = try (0..<3).map { _ in
        try MediaCache(directory: test.directory, configuration: test.configuration)
      }
      try await concurrently(3) { try await caches[$0].prefetch(url) }
      for cache in caches { await cache.close() }
      let stored = StoredBytes(test.directory, url)
      #expect(try stored.spans() == RangeSet(0..<length))
      #expect(try stored.firstWrongByte(bytes) == nil)
      // Each of them may have to request the whole resource, and no more than that.
      #expect(test.origin.log("/a.wav").bodyBytesSent <= length * 3 + 2 << 20)
    }
  }

  @Test
  func `A whole-resource reader waits for another writer, then fills the rest`() async throws {
    try await withTwoCaches { directory, origin, url, first, second in
      let writer = try await first.open(url)
      _ = try await writer.bytes(in: 0..<500_000)
      _ = try await origin.wait(for: "/a.wav") { $0.running == 0 }
      let player = try await second.open(Resource(url: url), fill: .wholeResource)
      try await #expect([UInt8](player.bytes(in: 0..<500_000)) == bytes.bytes(in: 0..<500_000))
      writer.cancel()
      await first.close()
      try await eventually("the other fills the rest") {
        player.cachedSpans == RangeSet(0..<length)
      }
      let log = try await origin.wait(for: "/a.wav") { $0.running == 0 }
      // The player itself may have read ahead before it could store.
      #expect(log.bytesSentTwice <= 2 << 20)
      player.cancel()
      await second.close()
      #expect(try StoredBytes(directory, url).spans() == RangeSet(0..<length))
    }
  }

  @Test func `A prefetch continues where a killed process stopped`() async throws {
    let tries = LockTries()
    try await withTwoCaches(disk: tries.disk) { directory, origin, url, first, _ in
      let child = try await HoldingProcess.start(directory, url)
      let before = tries.count
      let prefetch = Task { try await first.prefetch(url) }
      try await eventually("the prefetch waits") { tries.count > before + 20 }
      try await child.kill()
      _ = try await prefetch.value
      let log = try await origin.wait(for: "/a.wav") { $0.running == 0 }
      #expect(log.bytesSentTwice <= 256 << 10)
      await first.close()
      #expect(try StoredBytes(directory, url).spans() == RangeSet(0..<length))
      #expect(try StoredBytes(directory, url).firstWrongByte(bytes) == nil)
    }
  }

  @Test func `A prefetch reports a stalled writer as the cause`() async throws {
    try await withTwoCaches(writerSilence: .milliseconds(300)) { _, _, url, first, second in
      let writer = try await first.open(url)
      _ = try await writer.bytes(in: 0..<100_000)
      let error = await expectError(.inUse) { try await second.prefetch(url) }
      #expect(error?.reason.contains("Another process") == true)
      writer.cancel()
    }
  }

  @Test func `A prefetch that waits for another writer can be cancelled`() async throws {
    let tries = LockTries()
    try await withTwoCaches(disk: tries.disk) { _, _, url, first, second in
      let writer = try await first.open(url)
      _ = try await writer.bytes(in: 0..<100_000)
      let before = tries.count
      let prefetch = Task { try await second.prefetch(url) }
      try await eventually("the prefetch waits") { tries.count > before + 20 }
      prefetch.cancel()
      await #expect(throws: CancellationError.self) { try await prefetch.value }
      writer.cancel()
    }
  }
}
