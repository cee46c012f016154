// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

/// The directory of caches over an origin in memory, which has the same synthetic bytes under each
/// name. It is removed with this object: as a property of a suite, it lives as long as a test.
final class CacheDirectory: Sendable {
  let url: URL
  let length: Int64
  let bytes = SyntheticBytes(seed: 1)

  private let root: URL

  /// - Parameters:
  ///   - parent: the directory for the one of the test.
  ///   - path: where the directory of the caches is, below that of the test.
  init(
    length: Int64, in parent: URL = FileManager.default.temporaryDirectory, at path: String = ""
  ) {
    root = parent.appending(
      path: "refrain-test-\(UUID().uuidString)", directoryHint: .isDirectory)
    url = path.isEmpty ? root : root.appending(path: path, directoryHint: .isDirectory)
    self.length = length
  }

  deinit { try? FileManager.default.removeItem(at: root) }

  /// Without a slash at its end.
  var path: String { String(url.path(percentEncoded: false).dropLast()) }

  /// The size of all that is in it, in allocated blocks.
  var allocated: Int64 { allocatedBytes(path) }

  func url(_ name: String = "a") throws -> URL {
    try #require(URL(string: "http://origin.test/\(name).wav"))
  }

  func transport() -> MemoryTransport { MemoryTransport(seed: 1, length: length) }

  /// Returns a cache that never confirms what it has stored.
  func cache(
    limit: Int64? = nil, disk: (any Disk)? = nil, transport: (any Transport)? = nil,
    bootIdentity: String = BootIdentity.current,
    _ change: (inout MediaCache.Configuration) -> Void = { _ in }
  ) throws -> MediaCache {
    try MediaCache(
      directory: url,
      configuration: TestCache.configuration {
        $0.transport = transport ?? self.transport()
        $0.limit = limit
        $0.trustStored = true
        change(&$0)
      }, disk: disk ?? SystemDisk(for: path), bootIdentity: bootIdentity)
  }

  /// Runs `body` with a cache, and closes it in any case.
  func withCache(
    limit: Int64? = nil, disk: (any Disk)? = nil, transport: (any Transport)? = nil,
    _ change: (inout MediaCache.Configuration) -> Void = { _ in },
    _ body: (MediaCache) async throws -> Void
  ) async throws {
    let cache = try cache(limit: limit, disk: disk, transport: transport, change)
    let result: Result<Void, any Error>
    do { result = .success(try await body(cache)) } catch { result = .failure(error) }
    await cache.close()
    try result.get()
  }

  /// Expects the right bytes of a resource, by default all of them, from a new reader.
  func expectToPlay(
    _ name: String = "a", _ range: ByteRange? = nil, from cache: MediaCache,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let reader = try await cache.open(url(name))
    defer { reader.cancel() }
    try await expectToPlay(range, from: reader, sourceLocation: sourceLocation)
  }

  /// Expects the right bytes, by default all of them, from a reader.
  func expectToPlay(
    _ range: ByteRange? = nil, from reader: MediaReader,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let range = range ?? 0..<length
    let isRight = try await [UInt8](reader.bytes(in: range)) == bytes.bytes(in: range)
    #expect(isRight, "\(range)", sourceLocation: sourceLocation)
  }

  /// Stores entries whole, and makes them old: the first one was used the longest ago.
  func fill(_ names: [String]) async throws {
    try await withCache { cache in
      for name in names { try await cache.prefetch(url(name)) }
    }
    try age(names)
  }

  /// Makes entries old, the first one the oldest.
  func age(_ names: [String]) throws {
    for (index, name) in names.enumerated() {
      SystemFiles.setChangeTime(
        of: try stored(name).directory.recordPath, to: 1_000_000_000 + Double(index) * 1000)
    }
  }

  func stored(_ name: String = "a") throws -> StoredBytes { StoredBytes(url, try url(name)) }

  /// Returns those of the entries of which something is stored.
  func stored(of names: [String]) throws -> [String] {
    try names.filter { try !stored($0).usableSpans().isEmpty }
  }

  /// Whether an entry is stored whole, and right.
  func isWhole(_ name: String = "a") throws -> Bool {
    let stored = try stored(name)
    return try stored.usableSpans() == RangeSet(0..<length) && stored.firstWrongByte(bytes) == nil
  }

  /// Whether no byte of an entry is wrong.
  func isRight(_ name: String = "a") throws -> Bool {
    try stored(name).firstWrongByte(bytes) == nil
  }

  /// The count of the size, as other processes see it.
  var usageFile: UsageFile {
    UsageFile(in: path, bootIdentity: BootIdentity.current, disk: SystemDisk())
  }

  /// The path of an entry's data file.
  func dataFile(_ name: String = "a") throws -> String {
    let entry = try stored(name).directory
    return try "\(entry.path)/\(entry.loadRecord().record.file)"
  }
}

/// The largest size of a directory at the end of any operation of a disk.
final class PeakSize: Sendable {
  private let path: String
  private let most = Mutex(Int64(0))

  init(_ directory: CacheDirectory) { path = directory.path }

  /// A disk whose operations are watched.
  var disk: WatchedDisk {
    WatchedDisk { [self] _ in
      let now = allocatedBytes(path)
      most.withLock { $0 = max($0, now) }
    }
  }

  var bytes: Int64 { most.withLock { $0 } }
}
