// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

/// The limit holds for the directory, regardless of which cache writes to it.
@Suite(.timeLimit(.minutes(2)))
struct SharedLimitTests {
  private let length: Int64 = 700_000
  private let bytes = SyntheticBytes(seed: 1)

  private func url(_ name: String) throws -> URL {
    try #require(URL(string: "http://origin.test/\(name).wav"))
  }

  private func cache(
    _ directory: URL, _ limit: Int64?, length: Int64? = nil, disk: any Disk = SystemDisk(),
    bootIdentity: String = BootIdentity.current
  ) throws -> MediaCache {
    let transport = MemoryTransport(seed: 1, length: length ?? self.length)
    return try MediaCache(
      directory: directory,
      configuration: TestCache.configuration {
        $0.transport = transport
        $0.limit = limit
        $0.trustStored = true
      }, disk: disk, bootIdentity: bootIdentity)
  }

  private func used(_ directory: URL) -> Int64 {
    let path = directory.path(percentEncoded: false)
    return usageFile(path).update { $0.used }
  }

  private func usageFile(_ path: String) -> UsageFile {
    UsageFile(
      path: "\(path)/usage", bootIdentity: BootIdentity.current, disk: SystemDisk()
    ) { nil }
  }

  private func allocated(_ directory: URL) -> Int64 {
    allocatedBytes(directory.path(percentEncoded: false))
  }

  /// Measures the directory once more when writing has ended: bytes written during a measurement
  /// count twice.
  private func measureQuietly(_ directory: URL) async throws {
    let cache = try cache(directory, 1 << 40)
    await cache.context.budget.startScan()?.value
    await cache.close()
  }

  @Test func `Caches that write concurrently keep a shared limit`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let path = directory.path(percentEncoded: false)
    let limit: Int64 = 3 << 20
    let most = Mutex(Int64(0))
    let disk = WatchedDisk { _ in
      let now = allocatedBytes(path)
      most.withLock { $0 = max($0, now) }
    }
    let caches = try (0..<3).map { _ in try cache(directory, limit, disk: disk) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, cache) in caches.enumerated() {
        for index in 0..<4 {
          let url = try url("\(number)-\(index)")
          let whole = 0..<length
          let expected = bytes.bytes(in: whole)
          group.addTask {
            let reader = try await cache.open(Resource(url: url))
            defer { reader.cancel() }
            let all = try await reader.bytes(in: whole)
            #expect([UInt8](all) == expected)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(used(directory) >= allocated(directory))
    for cache in caches { await cache.close() }
    try await measureQuietly(directory)
    #expect(most.withLock { $0 } <= limit)
    #expect(allocated(directory) > limit / 3)
    // Writing has ended: the counted size is the size on disk.
    #expect(used(directory) == allocated(directory))
  }

  @Test func `Bytes stored without a limit count towards the limit of other caches`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let unlimited = try cache(directory, nil)
    for name in ["a", "b", "c"] { try await unlimited.prefetch(Resource(url: url(name))) }
    await unlimited.close()
    #expect(used(directory) == allocated(directory))
    let limited = try cache(directory, 2 << 20)
    try await limited.prefetch(Resource(url: url("d")))
    await limited.close()
    #expect(allocated(directory) <= 2 << 20)
    #expect(used(directory) == allocated(directory))
  }

  @Test func `Removing an entry lowers the shared usage, once no reader holds it`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let cache = try cache(directory, 2 << 20)
    for name in ["a", "b"] { try await cache.prefetch(Resource(url: url(name))) }
    try await eventually("both are written down") { cache.context.table.isEmpty }
    let other = try self.cache(directory, 2 << 20)
    try await other.remove(other.key(for: Resource(url: url("a"))))
    #expect(used(directory) == allocated(directory))
    // An entry that is open here, while a reader holds it.
    let reader = try await cache.open(Resource(url: url("b")))
    _ = try await reader.bytes(in: 0..<10)
    try await cache.remove(cache.key(for: Resource(url: url("b"))))
    // Its blocks are freed when the reader releases it, and not before.
    #expect(used(directory) >= allocated(directory) + length)
    reader.cancel()
    await cache.close()
    await other.close()
    #expect(used(directory) == allocated(directory))
  }

  @Test func `After a crash, granted bytes count until the directory is measured`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let first = try cache(directory, nil)
    for name in ["a", "b"] { try await first.prefetch(Resource(url: url(name))) }
    await first.close()
    let path = directory.path(percentEncoded: false)
    let file = usageFile(path)
    // The state left by a killed process. No process has that number.
    file.update { record in
      _ = record.grant(
        1 << 20, quantum: 0, to: (id: 7, process: Int64(Int32.max)), limit: nil, freed: 0, left: 0)
    }
    #expect(used(directory) == allocated(directory) + (1 << 20))
    let second = try cache(directory, 64 << 20)
    try await second.prefetch(Resource(url: url("c")))
    try await eventually("the dead writer is forgotten") { file.update { $0.writers.isEmpty } }
    await second.close()
    try await measureQuietly(directory)
    #expect(used(directory) == allocated(directory))
  }

  @Test(arguments: [0, 1, 2])
  func `A usage file that is missing, damaged or from an earlier boot is rebuilt`(
    _ how: Int
  ) async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let first = try cache(directory, nil, bootIdentity: how == 2 ? "before" : BootIdentity.current)
    for name in ["a", "b", "c"] { try await first.prefetch(Resource(url: url(name))) }
    await first.close()
    let file = directory.appending(path: "usage")
    if how == 0 { try FileManager.default.removeItem(at: file) }
    if how == 1 { try Data([1, 2, 3]).write(to: file) }
    let limit: Int64 = 2 << 20
    let second = try cache(directory, limit)
    let reader = try await second.open(Resource(url: url("d")))
    let all = try await reader.bytes(in: 0..<length)
    #expect([UInt8](all) == bytes.bytes(in: 0..<length))
    reader.cancel()
    await second.close()
    #expect(allocated(directory) <= limit)
    #expect(used(directory) >= allocated(directory))
    #expect(try !StoredBytes(directory, url("d")).usableSpans().isEmpty)
  }

  @Test func `Without a usable usage file, each cache keeps the limit by itself`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    try FileManager.default.createDirectory(
      at: directory.appending(path: "usage"), withIntermediateDirectories: true)
    let cache = try cache(directory, 2 << 20)
    for name in ["a", "b", "c", "d"] { try await cache.prefetch(Resource(url: url(name))) }
    await cache.close()
    #expect(allocated(directory) <= 2 << 20)
    #expect(allocated(directory) > 1 << 20)
  }
}
