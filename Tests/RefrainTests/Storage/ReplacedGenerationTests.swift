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

/// The stored bytes of a changed resource are removed when the first bytes of the new version have
/// arrived, and not before.
@Suite(.timeLimit(.minutes(2)))
struct ReplacedGenerationTests {
  private let length: Int64 = 500_003

  /// Runs `body` with a directory that holds the whole first version, over an origin with the
  /// second.
  private func withChange(
    _ length: Int64? = nil, limit: Int64? = nil, disk: any Disk = SystemDisk(),
    in directory: URL = TestCache.temporaryDirectory(),
    _ body: (Change) async throws -> Void
  ) async throws {
    let origin = try await OriginServer.start()
    let change = Change(
      directory: directory, origin: origin, length: length ?? self.length, limit: limit)
    do {
      origin.serve(.synthetic(seed: 1, length: change.length), at: "/a")
      try await change.withCache(disk: disk) { try await $0.prefetch(change.resource) }
      origin.serve(.synthetic(seed: 2, length: change.length), at: "/a")
      try await body(change)
    } catch {
      await origin.stop()
      throw error
    }
    await origin.stop()
    try? FileManager.default.removeItem(at: directory)
  }

  private struct Change: Sendable {
    let directory: URL
    let origin: OriginServer
    let length: Int64
    let limit: Int64?

    var resource: Resource { Resource(url: origin.url("/a")) }
    var stored: StoredBytes { StoredBytes(directory, origin.url("/a")) }

    func withCache(
      disk: any Disk = SystemDisk(), _ directory: URL? = nil, offline: Bool = false,
      _ body: (MediaCache) async throws -> Void
    ) async throws {
      let cache = try MediaCache(
        directory: directory ?? self.directory,
        configuration: TestCache.configuration {
          $0.offline = offline
          $0.limit = limit
        }, disk: disk)
      do { try await body(cache) } catch {
        await cache.close()
        throw error
      }
      await cache.close()
    }

    func expectToPlay(_ seed: UInt64, offline: Bool) async throws {
      try await withCache(offline: offline) { cache in
        let reader = try await cache.open(resource)
        defer { reader.cancel() }
        let bytes = try await reader.bytes(in: 0..<length)
        #expect([UInt8](bytes) == SyntheticBytes(seed: seed).bytes(in: 0..<length))
      }
    }

    /// The names of the entry's files, sorted.
    var files: [String] { SystemFiles.names(in: stored.directory.path).sorted() }
  }

  /// All of the old version until the first new byte arrives, then bytes of the new one.
  @Test func `At every instant, the stored bytes belong to one version`() async throws {
    let directory = TestCache.temporaryDirectory()
    let watched = Mutex<StoredBytes?>(nil)
    let seen = Mutex<[(etag: String?, count: Int64, wrong: Int64?)]>([])
    let disk = WatchedDisk { _ in
      guard let stored = watched.withLock({ $0 }) else { return }
      let etag = stored.etag
      let seed = etag.flatMap { UInt64($0.filter(\.isNumber)) } ?? 0
      let count = stored.usableSpans().byteCount
      let wrong = (try? stored.firstWrongByte(SyntheticBytes(seed: seed))) ?? nil
      seen.withLock { $0.append((etag, count, wrong)) }
    }
    try await withChange(in: directory) { change in
      watched.withLock { $0 = change.stored }
      try await change.withCache(disk: disk) { try await $0.prefetch(change.resource) }
      watched.withLock { $0 = nil }
    }
    let states = seen.withLock { $0 }
    #expect(
      states.contains { $0.etag == "\"seed-1\"" } && states.contains { $0.etag == "\"seed-2\"" })
    for state in states {
      #expect(state.wrong == nil)
      if state.etag == "\"seed-1\"" { #expect(state.count == length) }
    }
  }

  @Test func `After a power cut, the stored bytes belong to one version`() async throws {
    let directory = TestCache.temporaryDirectory()
    let images = Mutex<[PowerCutDisk.Image]>([])
    let disk = Mutex<PowerCutDisk?>(nil)
    let isWatching = Mutex(false)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let cut = PowerCutDisk { _ in
      guard isWatching.withLock({ $0 }), let image = disk.withLock({ $0?.image }) else { return }
      images.withLock { $0.append(image) }
    }
    disk.withLock { $0 = cut }
    var random = SeededGenerator(seed: 1)
    try await withChange(100_003, disk: cut, in: directory) { change in
      isWatching.withLock { $0 = true }
      try await change.withCache(disk: cut) { try await $0.prefetch(change.resource) }
      isWatching.withLock { $0 = false }
      let path = directory.path(percentEncoded: false)
      for image in images.withLock({ $0 }) {
        for _ in 0..<4 {
          let copy = TestCache.temporaryDirectory()
          defer { try? FileManager.default.removeItem(at: copy) }
          try image.materialise(
            path.hasSuffix("/") ? String(path.dropLast()) : path,
            as: String(copy.path(percentEncoded: false).dropLast()), &random)
          let stored = StoredBytes(copy, change.origin.url("/a"), bootIdentity: "after the cut")
          guard let seed = stored.etag.flatMap({ UInt64($0.filter(\.isNumber)) }) else { continue }
          #expect(seed == 1 || seed == 2)
          if seed == 1 { #expect(stored.usableSpans().byteCount == 100_003) }
          #expect(try stored.firstWrongByte(SyntheticBytes(seed: seed)) == nil)
        }
      }
    }
    #expect(images.withLock { $0.count } > 10)
  }

  @Test func `A new version whose bytes never arrive leaves the old one playable`() async throws {
    try await withChange { change in
      let old = change.files
      change.origin.script("/a", .on(.all, .drop(at: .body(0))))
      try await change.withCache { cache in
        let reader = try await cache.open(change.resource)
        defer { reader.cancel() }
        await #expect(throws: MediaCacheError.self) { try await reader.bytes(in: 0..<10) }
      }
      #expect(change.files == old)
      try await change.expectToPlay(1, offline: true)
    }
  }

  @Test func `A writer removes leftover files of a version without a record`() async throws {
    try await withChange { change in
      // The state after the process ends between the first bytes and their record.
      let path = change.stored.directory.path
      for name in ["abc.bin", "abc-1.spans", "entry.json.new"] {
        try Data(repeating: 1, count: 100_000).write(to: URL(filePath: "\(path)/\(name)"))
      }
      try await change.expectToPlay(1, offline: true)
      #expect(change.files.count == 5)
      // The origin has the old version again, and more of it is stored.
      change.origin.serve(.synthetic(seed: 1, length: change.length), at: "/a")
      let spans = change.stored.usableSpans()
      let budget = DiskBudget(
        directory: String(change.directory.path(percentEncoded: false).dropLast()), limit: nil,
        disk: SystemDisk(), clock: { .now })
      let entry = budget.entryDirectory(named: KeyHash.name(of: CacheKey(url: change.resource.url)))
      #expect(try entry.evict(100_000) != nil)
      #expect(change.files.count == 2)
      try Data(repeating: 1, count: 100_000).write(to: URL(filePath: "\(path)/abc.bin"))
      try await change.expectToPlay(1, offline: false)
      #expect(change.stored.usableSpans() == spans)
      #expect(change.files.count == 2 && !change.files.contains("abc.bin"))
    }
  }

  @Test func `The removal of an entry ends the storing of whichever version is being stored`()
    async throws
  {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 1, length: length), at: "/a")
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      _ = try await reader.bytes(in: 0..<length)
      let entry = reader.entry
      let old = try #require(entry.current)
      entry.supersede(old)
      let next = try await test.reader("/a")
      defer { next.cancel() }
      _ = try await next.bytes(in: 0..<100)
      #expect(next.generation !== old)
      #expect(next.generation.withState(\.storage.isPrepared))
      #expect(try await test.cache.remove(entry.key) != nil)
      #expect(!next.generation.withState(\.storage.isPrepared))
    }
  }

  /// There is no room for bytes of both.
  @Test func `A new version is stored within a limit that the old one fills`() async throws {
    let limit: Int64 = 2 << 20
    let directory = TestCache.temporaryDirectory()
    let path = directory.path(percentEncoded: false)
    let most = Mutex(Int64(0))
    let disk = WatchedDisk { _ in
      let now = allocatedBytes(path)
      most.withLock { $0 = max($0, now) }
    }
    // No block is left for a chunk of another version.
    try await withChange(limit - 130_000, limit: limit, disk: disk, in: directory) { change in
      #expect(change.stored.usableSpans().byteCount == change.length)
      try await change.withCache(disk: disk) { try await $0.prefetch(change.resource) }
      #expect(change.stored.etag == "\"seed-2\"")
      #expect(change.stored.usableSpans().byteCount == change.length)
      #expect(allocatedBytes(path) <= limit)
    }
    #expect(most.withLock { $0 } <= limit)
  }

  /// A player does not ask again for what could not be stored.
  @Test func `A new version that is played is stored at the first attempt`() async throws {
    let limit: Int64 = 2 << 20
    try await withChange(limit - 130_000, limit: limit) { change in
      try await change.expectToPlay(2, offline: false)
      #expect(change.stored.etag == "\"seed-2\"")
      #expect(change.stored.usableSpans().byteCount == change.length)
    }
  }

  /// The same on a full disk.
  @Test func `A new version is stored on a disk that the old one fills`() async throws {
    let directory = TestCache.temporaryDirectory()
    try await withChange(in: directory) { change in
      let entry = change.stored.directory.path
      let old = "\(entry)/\(try change.stored.directory.loadRecord().record.file)"
      let disk = WatchedDisk()
      disk.fail { operation, path in
        let isData =
          path.hasPrefix(entry) && !path.hasSuffix(SpanJournal.suffix)
          && !path.hasSuffix(".new")
        return operation == .write && isData && access(old, F_OK) == 0 ? ENOSPC : nil
      }
      try await change.withCache(disk: disk) { try await $0.prefetch(change.resource) }
      #expect(change.stored.etag == "\"seed-2\"")
      #expect(change.stored.usableSpans().byteCount == change.length)
    }
  }
}
