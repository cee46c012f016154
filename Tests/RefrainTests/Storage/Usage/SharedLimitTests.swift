// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// The limit holds for the directory, regardless of which cache writes to it.
@Suite(.timeLimit(.minutes(2)))
struct SharedLimitTests {
  private let directory = CacheDirectory(length: 700_000)

  private var used: Int64 { directory.usageFile.update { $0.used } }

  private func prefetch(_ names: [String], _ cache: MediaCache) async throws {
    for name in names { try await cache.prefetch(directory.url(name)) }
    await cache.close()
  }

  /// Measures the directory once more when writing has ended: bytes written during a measurement
  /// count twice.
  private func measureQuietly() async throws {
    try await directory.withCache(limit: 1 << 40) { cache in
      await cache.budget.startScan().value
    }
  }

  @Test func `Caches that write concurrently keep a shared limit`() async throws {
    let limit: Int64 = 3 << 20
    let peak = PeakSize(directory)
    let disk = peak.disk
    let caches = try (0..<3).map { _ in try directory.cache(limit: limit, disk: disk) }
    try await concurrently(12) { [directory] number in
      try await directory.expectToPlay("\(number)", from: caches[number / 4])
    }
    #expect(used >= directory.allocated)
    for cache in caches { await cache.close() }
    try await measureQuietly()
    #expect(peak.bytes <= limit)
    #expect(directory.allocated > limit / 3)
    // Writing has ended: the counted size is the size on disk.
    #expect(used == directory.allocated)
  }

  @Test func `Bytes stored without a limit count towards the limit of other caches`() async throws {
    try await prefetch(["a", "b", "c"], directory.cache())
    #expect(used == directory.allocated)
    try await prefetch(["d"], directory.cache(limit: 2 << 20))
    #expect(directory.allocated <= 2 << 20)
    #expect(used == directory.allocated)
  }

  @Test func `Removing an entry lowers the shared usage, once no reader holds it`() async throws {
    let cache = try directory.cache(limit: 2 << 20)
    for name in ["a", "b"] { try await cache.prefetch(directory.url(name)) }
    try await eventually("both are written down") { cache.table.isEmpty }
    let other = try directory.cache(limit: 2 << 20)
    try await other.remove(directory.url("a"))
    #expect(used == directory.allocated)
    // An entry that is open here, while a reader holds it.
    let reader = try await cache.open(directory.url("b"))
    _ = try await reader.bytes(in: 0..<10)
    try await cache.remove(directory.url("b"))
    // Its blocks are freed when the reader releases it, and not before.
    #expect(used >= directory.allocated + directory.length)
    reader.cancel()
    await cache.close()
    await other.close()
    #expect(used == directory.allocated)
  }

  @Test func `After a crash, granted bytes count until the directory is measured`() async throws {
    try await prefetch(["a", "b"], directory.cache())
    let file = directory.usageFile
    // The state left by a killed process. No process has that number.
    file.update { record in
      record.grant(1 << 20, to: UInt64(Int32.max), outstanding: 1 << 20)
    }
    #expect(used == directory.allocated + (1 << 20))
    try await prefetch(["c"], directory.cache(limit: 64 << 20))
    #expect(used == directory.allocated + (1 << 20))
    try await measureQuietly()
    #expect(file.update { $0.writers.isEmpty })
    #expect(used == directory.allocated)
  }

  @Test(arguments: [0, 1, 2])
  func `A usage file that is missing, damaged or from an earlier boot is rebuilt`(
    _ how: Int
  ) async throws {
    let boot = how == 2 ? "before" : BootIdentity.current
    try await prefetch(["a", "b", "c"], directory.cache(bootIdentity: boot))
    let file = directory.url.appending(path: "usage")
    if how == 0 { try FileManager.default.removeItem(at: file) }
    if how == 1 { try Data([1, 2, 3]).write(to: file) }
    let limit: Int64 = 2 << 20
    try await directory.withCache(limit: limit) { cache in
      try await directory.expectToPlay("d", from: cache)
    }
    #expect(directory.allocated <= limit)
    #expect(used >= directory.allocated)
    #expect(try !directory.stored("d").usableSpans().isEmpty)
  }

  @Test func `While the count cannot be read, resources play and nothing is stored`() async throws {
    let limit: Int64 = 3 << 20
    let disk = WatchedDisk()
    let caches = try (0..<3).map { _ in try directory.cache(limit: limit, disk: disk) }
    for name in ["a", "b", "c", "d"] { try await caches[0].prefetch(directory.url(name)) }
    for cache in caches { #expect(await cache.figures().usedBytes >= directory.allocated) }
    disk.fail { operation, path in
      operation == .open && path.hasSuffix("/usage") ? EMFILE : nil
    }
    for (name, cache) in zip(["e", "f", "g"], caches) {
      try await directory.expectToPlay(name, from: cache)
      #expect(directory.allocated <= limit)
    }
    #expect(try directory.stored(of: ["a", "b", "c", "d"]).count == 4)
    disk.fail(nil)
    try await caches[1].prefetch(directory.url("h"))
    for cache in caches { await cache.close() }
    #expect(try directory.isWhole("h"))
    #expect(directory.allocated <= limit && used >= directory.allocated)
  }

  @Test func `Without a usable usage file, each cache keeps the limit by itself`() async throws {
    try FileManager.default.createDirectory(
      at: directory.url.appending(path: "usage"), withIntermediateDirectories: true)
    try await prefetch(["a", "b", "c", "d"], directory.cache(limit: 2 << 20))
    #expect(directory.allocated <= 2 << 20)
    #expect(directory.allocated > 1 << 20)
  }
}
