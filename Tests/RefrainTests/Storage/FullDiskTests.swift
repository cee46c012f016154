// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import TestSupport
import Testing

@testable import Refrain

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Promise 5: a full or failing disk costs the bytes that cannot be stored, and nothing else.
@Suite(.timeLimit(.minutes(2)))
struct FullDiskTests {
  private let directory = CacheDirectory(length: 6_000_013)
  private var length: Int64 { directory.length }

  @Test(.enabled(if: SmallFileSystem.isUsable))
  func `Playback continues on a full file system, and stored bytes stay correct`() async throws {
    let (fileSystem, reason) = SmallFileSystem.mount(bytes: 3 << 20)
    let mounted = try #require(fileSystem, "\(reason)")
    let filler = mounted.directory.appending(path: "filler")
    for filled in [0, 2 << 20, 3 << 20] {
      let directory = CacheDirectory(length: length, in: mounted.directory)
      try FileManager.default.createDirectory(
        at: directory.url, withIntermediateDirectories: true)
      _ = FileManager.default.createFile(atPath: filler.path, contents: nil)
      // Fills the space that is available.
      let handle = try FileHandle(forWritingTo: filler)
      for _ in 0..<filled / 4096 {
        guard (try? handle.write(contentsOf: Data(count: 4096))) != nil else { break }
      }
      try handle.close()

      let cache: MediaCache
      do {
        cache = try directory.cache()
      } catch {
        // Not even a directory can be created: an immediate error, with a remedy.
        #expect(!(error as? MediaCacheError ?? .init(.storage, "")).remedy.isEmpty)
        continue
      }
      try await directory.expectToPlay(from: cache)
      await cache.close()
      #expect(try directory.isRight(), "\(filled) bytes filled")
      let spans = try directory.stored().usableSpans()
      if filled == 0 { #expect(spans.byteCount > 1 << 20) }

      // Stored bytes play from disk. With room again, the rest is stored, too.
      try FileManager.default.removeItem(at: filler)
      let origin = directory.transport()
      let again = try directory.cache(transport: origin)
      let end = spans.ranges.first?.upperBound ?? 0
      try await directory.expectToPlay("a", 0..<end, from: again)
      #expect(origin.received.intersection(spans).byteCount == 0)
      await again.close()
      #expect(try directory.isRight())
    }
  }

  @Test func `Storing resumes when there is room again`() async throws {
    let disk = WatchedDisk()
    let cache = try directory.cache(disk: disk)
    let reader = try await cache.open(directory.url())
    try await directory.expectToPlay(0..<100_000, from: reader)
    disk.fail { operation, _ in operation == .write ? ENOSPC : nil }
    let events = cache.events(includingTraffic: false)
    try await directory.expectToPlay(100_000..<3_000_000, from: reader)
    #expect(!reader.isStoring)
    disk.fail(nil)
    // A pause follows the failure: until it has passed, bytes read are not stored.
    try await reader.readUntilStoring(in: 0..<length)
    try await directory.expectToPlay(from: reader)
    reader.cancel()
    try await cache.prefetch(directory.url())
    await cache.close()
    #expect(await !warnings(events).isEmpty)
    #expect(try directory.isWhole())
  }

  @Test(arguments: [ENOSPC, EIO, EDQUOT])
  func `Random disk faults store no wrong byte, and playback continues`(
    _ code: Int32
  ) async throws {
    let first = UInt64.random(in: 0..<1 << 32)
    print("faultsAtRandomPlaceNoWrongByteAndPlaybackGoesOn(\(code)): seeds from \(first)")
    for seed in first..<first + (TestSeed.isSoak ? 100 : 5) {
      let directory = CacheDirectory(length: length)
      let random = Mutex(SeededGenerator(seed: seed))
      let shares: [Double] = [0.02, 0.2, 0.7, 1]
      let share = random.withLock { shares.randomElement(using: &$0) ?? 1 }
      let disk = WatchedDisk()
      for round in 0..<3 {
        let cache = try directory.cache(disk: disk)
        let before = try directory.stored().usableSpans()
        if round < 2 {
          disk.fail { operation, path in
            // Another test checks whether synced bytes are on disk.
            if operation == .sync, path.hasSuffix(".wav") { return nil }
            guard operation.changesDisk else { return nil }
            let dice: Double = random.withLock { .random(in: 0..<1, using: &$0) }
            return dice < share ? code : nil
          }
        }
        try await concurrently(3) { number in
          let start: Int64 = [0, 2_000_000, 5_000_000][number]
          let range = start..<min(start + 1_500_000, directory.length)
          try await directory.expectToPlay("a", range, from: cache)
        }
        await cache.close()
        disk.fail(nil)
        #expect(try directory.isRight(), "seed \(seed)")
        let kept = try directory.stored().usableSpans()
        #expect(before.subtracting(kept).byteCount == 0, "seed \(seed), round \(round)")
        if round == 2 { #expect(kept.byteCount >= 4_000_013) }
      }
    }
  }

  /// fsync(2) reports once that bytes could not be written, then forgets it: they are not claimed.
  @Test(arguments: [EIO, ENOSPC])
  func `Bytes that cannot be synced are never recorded as stored`(_ code: Int32) async throws {
    let disk = WatchedDisk()
    disk.fail { operation, path in operation == .sync && path.hasSuffix(".wav") ? code : nil }
    try await directory.withCache(disk: disk) { try await directory.expectToPlay(from: $0) }
    #expect(try directory.stored().usableSpans().isEmpty)
  }

  /// They may have been written before that sync.
  @Test func `Bytes committed after a failed sync are not recorded by a later one`() async throws {
    // Nothing is synced before it is closed.
    let directory = CacheDirectory(length: 100_000)
    let disk = WatchedDisk()
    try await directory.withCache(disk: disk) { cache in
      let reader = try await cache.open(directory.url())
      defer { reader.cancel() }
      try await directory.expectToPlay(from: reader)
      let generation = reader.generation
      let file = try #require(generation.withState(\.file))
      disk.fail { operation, path in operation == .sync && path.hasSuffix(".wav") ? EIO : nil }
      _ = await reader.entry.storage.sync(generation)
      disk.fail(nil)
      _ = generation.withState { $0.commit(0, 0..<1000, to: file, now: .now) }
    }
    #expect(try directory.stored().usableSpans().isEmpty)
  }

  @Test func `A resource plays to its end under a file size limit`() async throws {
    try await withCache({ $0.trustStored = true }) { test in
      test.origin.serve(.synthetic(seed: 1, length: length), at: "/a.wav")
      let (url, directory) = (test.origin.url("/a.wav"), test.directory)
      let (played, status) = try await onThread {
        let child = try ChildProcess("play", directory, url, 2 << 20)
        let played = child.readToEnd()
        return (played, child.wait())
      }
      let bytes = SyntheticBytes(seed: 1)
      #expect(status == 0 && played == bytes.bytes(in: 0..<length))
      let stored = StoredBytes(directory, url)
      #expect(try stored.firstWrongByte(bytes) == nil)
      let spans = try stored.spans()
      #expect(spans.contains(0) && spans.byteCount <= 2 << 20)
      test.origin.resetLog("/a.wav")
      try await #expect(test.read("/a.wav") == bytes.bytes(in: 0..<length))
      await test.cache.close()
      #expect(test.origin.log("/a.wav").sent.intersection(spans).byteCount == 0)
      #expect(try stored.spans() == RangeSet(0..<length))
    }
  }

  /// A descriptor that is closed twice is another file's, or a connection's, the second time.
  @Test func `A journal whose header does not fit on the disk is closed once`() throws {
    try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: true)
    let disk = WatchedDisk()
    disk.fail { operation, _ in operation == .write ? ENOSPC : nil }
    let entry = EntryDirectory(path: directory.path, disk: disk, bootIdentity: "boot")
    #expect(throws: DiskError.self) { try JournalFile(in: entry, named: "journal") }
    #expect(disk.closed == ["\(directory.path)/journal"])
  }
}
