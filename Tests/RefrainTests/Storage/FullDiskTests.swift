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
  private let length: Int64 = 6_000_013
  private let bytes = SyntheticBytes(seed: 1)
  private let url = URL(string: "http://origin.test/tune.wav")

  private func configuration(_ transport: any Transport) -> MediaCache.Configuration {
    TestCache.configuration { $0.transport = transport }
  }

  private func read(
    _ cache: MediaCache, _ url: URL, _ range: ByteRange? = nil
  ) async throws -> [UInt8] {
    let reader = try await cache.open(Resource(url: url))
    defer { reader.cancel() }
    var all: [UInt8] = []
    for try await chunk in reader.chunks(in: range) { all += chunk }
    return all
  }

  @Test(.enabled(if: SmallFileSystem.isUsable))
  func `Playback continues on a full file system, and stored bytes stay correct`() async throws {
    let (fileSystem, reason) = SmallFileSystem.mount(bytes: 3 << 20)
    let mounted = try #require(fileSystem, "\(reason)")
    let url = try #require(url)
    let filler = mounted.directory.appending(path: "filler")
    let directory = mounted.directory.appending(path: "cache", directoryHint: .isDirectory)
    for filled in [0, 2 << 20, 3 << 20] {
      try? FileManager.default.removeItem(at: directory)
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      _ = FileManager.default.createFile(atPath: filler.path, contents: nil)
      // Fills the space that is available.
      let handle = try FileHandle(forWritingTo: filler)
      for _ in 0..<filled / 4096 {
        guard (try? handle.write(contentsOf: Data(count: 4096))) != nil else { break }
      }
      try handle.close()

      let cache: MediaCache
      do {
        cache = try MediaCache(
          directory: directory,
          configuration: configuration(MemoryTransport(seed: 1, length: length)))
      } catch {
        // Not even a directory can be created: an immediate error, with a remedy.
        #expect(!(error as? MediaCacheError ?? .init(.storage, "")).remedy.isEmpty)
        continue
      }
      try await #expect(read(cache, url) == bytes.bytes(in: 0..<length), "\(filled) bytes filled")
      await cache.close()
      let stored = StoredBytes(directory, url)
      #expect(try stored.firstWrongByte(bytes) == nil)
      let spans = stored.usableSpans()
      if filled == 0 { #expect(spans.byteCount > 1 << 20) }

      // Stored bytes play from disk. With room again, the rest is stored, too.
      try FileManager.default.removeItem(at: filler)
      let origin = MemoryTransport(seed: 1, length: length)
      let again = try MediaCache(directory: directory, configuration: configuration(origin))
      let end = spans.ranges.first?.upperBound ?? 0
      try await #expect(read(again, url, 0..<end) == bytes.bytes(in: 0..<end))
      #expect(origin.received.intersection(spans).byteCount == 0)
      await again.close()
      #expect(try stored.firstWrongByte(bytes) == nil)
    }
  }

  @Test func `Storing resumes when there is room again`() async throws {
    let url = try #require(url)
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let disk = WatchedDisk()
    let origin = MemoryTransport(seed: 1, length: length)
    let cache = try MediaCache(
      directory: directory, configuration: configuration(origin), disk: disk)
    let reader = try await cache.open(Resource(url: url))
    try await #expect([UInt8](reader.bytes(in: 0..<100_000)) == bytes.bytes(in: 0..<100_000))
    disk.fail { operation, _ in operation == .write ? ENOSPC : nil }
    let warnings = Task { [events = cache.events()] in
      for await event in events { if case .warning = event { return true } }
      return false
    }
    try await #expect(
      [UInt8](reader.bytes(in: 100_000..<3_000_000)) == bytes.bytes(in: 100_000..<3_000_000))
    #expect(!reader.isStoring)
    disk.fail(nil)
    // A pause follows the failure: until it has passed, bytes read are not stored.
    var offset: Int64 = 0
    while !reader.isStoring {
      offset = (offset + 777_777) % (length - 1)
      _ = try await reader.bytes(in: offset..<offset + 1)
      try await Task.sleep(for: .milliseconds(20))
    }
    try await #expect([UInt8](reader.bytes(in: 0..<length)) == bytes.bytes(in: 0..<length))
    reader.cancel()
    try await cache.prefetch(Resource(url: url))
    #expect(await warnings.value)
    await cache.close()
    #expect(try StoredBytes(directory, url).spans() == RangeSet(0..<length))
    #expect(try StoredBytes(directory, url).firstWrongByte(bytes) == nil)
  }

  @Test(arguments: [ENOSPC, EIO, EDQUOT])
  func `Random disk faults store no wrong byte, and playback continues`(
    _ code: Int32
  ) async throws {
    let url = try #require(url)
    let first = UInt64.random(in: 0..<1 << 32)
    print("faultsAtRandomPlaceNoWrongByteAndPlaybackGoesOn(\(code)): seeds from \(first)")
    for seed in first..<first + (TestSeed.isSoak ? 100 : 5) {
      let directory = TestCache.temporaryDirectory()
      defer { try? FileManager.default.removeItem(at: directory) }
      let random = Mutex(SeededGenerator(seed: seed))
      let shares: [Double] = [0.02, 0.2, 0.7, 1]
      let share = random.withLock { shares.randomElement(using: &$0) ?? 1 }
      let disk = WatchedDisk()
      for round in 0..<3 {
        let origin = MemoryTransport(seed: 1, length: length)
        let cache = try MediaCache(
          directory: directory, configuration: configuration(origin), disk: disk)
        let before = StoredBytes(directory, url).usableSpans()
        if round < 2 {
          disk.fail { operation, path in
            // Another test checks whether synced bytes are on disk.
            if operation == .sync, path.hasSuffix(".wav") { return nil }
            guard operation.changesDisk else { return nil }
            let dice: Double = random.withLock { .random(in: 0..<1, using: &$0) }
            return dice < share ? code : nil
          }
        }
        let bytes = bytes
        let length = length
        try await withThrowingTaskGroup(of: Void.self) { group in
          for start in [0, 2_000_000, 5_000_000] as [Int64] {
            group.addTask {
              let range = start..<min(start + 1_500_000, length)
              let all = try await read(cache, url, range)
              #expect(all == bytes.bytes(in: range), "seed \(seed)")
            }
          }
          try await group.waitForAll()
        }
        await cache.close()
        disk.fail(nil)
        let stored = StoredBytes(directory, url)
        #expect(try stored.firstWrongByte(bytes) == nil, "seed \(seed)")
        let kept = stored.usableSpans()
        #expect(before.subtracting(kept).byteCount == 0, "seed \(seed), round \(round)")
        if round == 2 { #expect(kept.byteCount >= 4_000_013) }
      }
    }
  }

  /// fsync(2) reports once that bytes could not be written, then forgets it: they are not claimed.
  @Test(arguments: [EIO, ENOSPC])
  func `Bytes that cannot be synced are never recorded as stored`(_ code: Int32) async throws {
    let url = try #require(url)
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let disk = WatchedDisk()
    disk.fail { operation, path in operation == .sync && path.hasSuffix(".wav") ? code : nil }
    let cache = try MediaCache(
      directory: directory, configuration: configuration(MemoryTransport(seed: 1, length: length)),
      disk: disk)
    try await #expect(read(cache, url) == bytes.bytes(in: 0..<length))
    await cache.close()
    #expect(StoredBytes(directory, url).usableSpans().isEmpty)
  }

  @Test func `A resource plays to its end under a file size limit`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try await OriginServer.start()
    origin.serve(.synthetic(seed: 1, length: length), at: "/a.wav")
    let url = origin.url("/a.wav")
    let (played, status) = try await onThread {
      let child = try ChildProcess("play", directory, url, 2 << 20)
      let played = child.readToEnd()
      return (played, child.wait())
    }
    #expect(status == 0)
    #expect(played == bytes.bytes(in: 0..<length))
    let stored = StoredBytes(directory, url)
    #expect(try stored.firstWrongByte(bytes) == nil)
    let spans = try stored.spans()
    #expect(spans.contains(0) && spans.byteCount <= 2 << 20)
    origin.resetLog("/a.wav")
    try await withCache(directory: directory, origin: origin, { $0.trustStored = true }) { test in
      try await #expect(test.read("/a.wav") == bytes.bytes(in: 0..<length))
    }
    #expect(origin.log("/a.wav").sent.intersection(spans).byteCount == 0)
    #expect(try stored.spans() == RangeSet(0..<length))
    await origin.stop()
  }
}
