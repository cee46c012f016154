// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

@Suite(.timeLimit(.minutes(1)))
struct VerifyTests {
  private let length: Int64 = 700_001
  private let bytes = SyntheticBytes(seed: 1)

  private func withStored(
    _ body: (MediaCache, URL, StoredBytes, _ dataFile: String) async throws -> Void
  ) async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let url = try #require(URL(string: "http://origin.test/a.wav"))
    let cache = try MediaCache(
      directory: directory,
      configuration: TestCache.configuration {
        $0.transport = MemoryTransport(seed: 1, length: length)
      })
    try await cache.prefetch(Resource(url: url))
    let stored = StoredBytes(directory, url)
    let reader = try await cache.open(Resource(url: url))
    reader.cancel()
    // Waits until the entry is closed: no part of it is in use.
    while try await cache.entry(for: CacheKey(url: url))?.isInUse != false { await Task.yield() }
    let record = try stored.directory.loadRecord().record
    try await body(cache, directory, stored, "\(stored.directory.path)/\(record.file)")
    await cache.close()
  }

  @Test func `Verifying leaves an intact entry unchanged`() async throws {
    try await withStored { cache, _, stored, _ in
      let before = try Data(contentsOf: URL(filePath: stored.directory.recordPath))
      let results = try await cache.verify()
      #expect(results.map(\.problems) == [[]])
      #expect(results.map(\.droppedBytes) == [0])
      #expect(results.first?.key?.rawValue == "http://origin.test/a.wav")
      #expect(try Data(contentsOf: URL(filePath: stored.directory.recordPath)) == before)
    }
  }

  @Test func `A hole in a data file is dropped and fetched again`() async throws {
    try await withStored { cache, directory, stored, dataFile in
      try SystemFiles.makeHole(40_960..<81_920, in: dataFile)
      SystemFiles.setChangeTime(of: stored.directory.recordPath, to: 1_000_000_000)
      #expect(try stored.firstWrongByte(bytes) != nil)
      let results = try await cache.verify()
      #expect(results.map(\.droppedBytes) == [40_960])
      #expect(results.first?.problems.count == 1)
      #expect(try stored.spans() == RangeSet(0..<length).subtracting(RangeSet(40_960..<81_920)))
      #expect(try stored.firstWrongByte(bytes) == nil)
      #expect(SystemFiles.status(of: stored.directory.recordPath)?.changed == 1_000_000_000)
      let url = try #require(URL(string: "http://origin.test/a.wav"))
      #expect(try await cache.completeFile(for: CacheKey(url: url)) == nil)
      try await cache.prefetch(Resource(url: url))
      let file = try #require(try await cache.completeFile(for: CacheKey(url: url)))
      #expect([UInt8](try Data(contentsOf: file)) == bytes.bytes(in: 0..<length))
      #expect(directory.isFileURL)
    }
  }

  @Test func `The missing end of a truncated data file is dropped from the record`() async throws {
    try await withStored { cache, _, stored, dataFile in
      #expect(truncate(dataFile, 300_000) == 0)
      let results = try await cache.verify()
      #expect(results.map(\.droppedBytes) == [length - 300_000])
      #expect(try stored.spans() == RangeSet(0..<300_000))
      #expect(try await cache.verify().map(\.problems) == [[]])
    }
  }

  @Test func `Foreign files and broken entries are removed`() async throws {
    try await withStored { cache, directory, stored, _ in
      try Data("x".utf8).write(to: URL(filePath: "\(stored.directory.path)/foreign"))
      try FileManager.default.createDirectory(
        atPath: "\(stored.directory.path)/inner/most", withIntermediateDirectories: true)
      let broken = StoredBytes(directory, CacheKey(rawValue: "broken")).directory
      try FileManager.default.createDirectory(
        atPath: broken.path, withIntermediateDirectories: true)
      try Data("{".utf8).write(to: URL(filePath: broken.recordPath))
      let empty = StoredBytes(directory, CacheKey(rawValue: "empty")).directory
      try FileManager.default.createDirectory(atPath: empty.path, withIntermediateDirectories: true)
      let later = StoredBytes(directory, CacheKey(rawValue: "later")).directory
      try FileManager.default.createDirectory(atPath: later.path, withIntermediateDirectories: true)
      try Data("{\"version\":2}".utf8).write(to: URL(filePath: later.recordPath))
      let results = try await cache.verify()
      #expect(results.count == 4)
      #expect(results.allSatisfy { $0.problems.count == 1 })
      #expect(SystemFiles.names(in: stored.directory.path).count == 2)
      #expect(try stored.spans() == RangeSet(0..<length))
      #expect(SystemFiles.status(of: broken.path) == nil)
      #expect(SystemFiles.status(of: empty.path) == nil)
      #expect(SystemFiles.status(of: later.recordPath) != nil)
      #expect(try await cache.entries().count == 1)
    }
  }
}
