// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

@Suite(.timeLimit(.minutes(1)))
struct VerifyTests {
  private let directory = CacheDirectory(length: 700_001)
  private var length: Int64 { directory.length }

  /// Runs `body` with a cache over one whole entry, which is not in use.
  private func withStored(
    _ body: (MediaCache, StoredBytes, _ dataFile: String) async throws -> Void
  ) async throws {
    try await directory.fill(["a"])
    try await directory.withCache { cache in
      try await body(cache, directory.stored(), directory.dataFile())
    }
  }

  @Test func `Verifying leaves an intact entry unchanged`() async throws {
    try await withStored { cache, stored, _ in
      let before = try Data(contentsOf: URL(filePath: stored.directory.recordPath))
      let results = try await cache.verify()
      #expect(results.map(\.problems) == [[]])
      #expect(results.map(\.droppedBytes) == [0])
      #expect(results.first?.key?.rawValue == "http://origin.test/a.wav")
      #expect(try Data(contentsOf: URL(filePath: stored.directory.recordPath)) == before)
    }
  }

  @Test func `An intact entry is verified on a read-only file system`() async throws {
    try await directory.fill(["a"])
    let disk = WatchedDisk()
    try await directory.withCache(disk: disk) { cache in
      disk.fail { operation, _ in
        operation.changesDisk || operation == .openExisting ? EROFS : nil
      }
      let results = try await cache.verify()
      #expect(results.map(\.problems) == [[]])
    }
  }

  @Test func `An entry is left unchanged if the file system cannot report holes`() async throws {
    try await directory.fill(["a"])
    let disk = WatchedDisk()
    try await directory.withCache(disk: disk) { cache in
      disk.fail { operation, _ in operation == .holes ? EINVAL : nil }
      let results = try await cache.verify()
      #expect(results.map(\.problems.count) == [1])
      #expect(results.map(\.droppedBytes) == [0])
    }
    #expect(try directory.isWhole())
  }

  @Test func `A hole in a data file is dropped and fetched again`() async throws {
    try await withStored { cache, stored, dataFile in
      try SystemFiles.makeHole(40_960..<81_920, in: dataFile)
      SystemFiles.setChangeTime(of: stored.directory.recordPath, to: 1_000_000_000)
      #expect(try !directory.isRight())
      let results = try await cache.verify()
      #expect(results.map(\.droppedBytes) == [40_960])
      #expect(results.first?.problems.count == 1)
      #expect(try stored.spans() == RangeSet(0..<length).subtracting(RangeSet(40_960..<81_920)))
      #expect(try directory.isRight())
      #expect(SystemFiles.status(of: stored.directory.recordPath)?.changed == 1_000_000_000)
      #expect(try await cache.completeFile(for: directory.url()) == nil)
      try await cache.prefetch(directory.url())
      #expect(try await cache.completeFile(for: directory.url()) != nil)
    }
    #expect(try directory.isWhole())
  }

  @Test func `The missing end of a truncated data file is dropped from the record`() async throws {
    try await withStored { cache, stored, dataFile in
      #expect(truncate(dataFile, 300_000) == 0)
      let results = try await cache.verify()
      #expect(results.map(\.droppedBytes) == [length - 300_000])
      #expect(try stored.spans() == RangeSet(0..<300_000))
      #expect(try await cache.verify().map(\.problems) == [[]])
    }
  }

  @Test func `A damaged entry in use is listed without problems, and stays`() async throws {
    try await withStored { cache, stored, dataFile in
      let reader = try await cache.open(directory.url())
      defer { reader.cancel() }
      try FileManager.default.removeItem(atPath: dataFile)
      let results = try await cache.verify()
      #expect(results.map(\.key?.rawValue) == ["http://origin.test/a.wav"])
      #expect(results.map(\.problems) == [[]] && results.map(\.droppedBytes) == [0])
      #expect(SystemFiles.status(of: stored.directory.recordPath) != nil)
    }
  }

  @Test func `A removed entry is named by its record`() async throws {
    try await withStored { cache, stored, dataFile in
      try FileManager.default.removeItem(atPath: dataFile)
      let results = try await cache.verify()
      #expect(results.map(\.key?.rawValue) == ["http://origin.test/a.wav"])
      #expect(results.map(\.problems.count) == [1])
      #expect(SystemFiles.status(of: stored.directory.path) == nil)
    }
  }

  @Test func `Foreign files and broken entries are removed`() async throws {
    try await withStored { cache, stored, _ in
      try Data("x".utf8).write(to: URL(filePath: "\(stored.directory.path)/foreign"))
      try FileManager.default.createDirectory(
        atPath: "\(stored.directory.path)/inner/most", withIntermediateDirectories: true)
      let broken = StoredBytes(directory.url, CacheKey(rawValue: "broken")).directory
      try FileManager.default.createDirectory(
        atPath: broken.path, withIntermediateDirectories: true)
      try Data("{".utf8).write(to: URL(filePath: broken.recordPath))
      let empty = StoredBytes(directory.url, CacheKey(rawValue: "empty")).directory
      try FileManager.default.createDirectory(atPath: empty.path, withIntermediateDirectories: true)
      let later = StoredBytes(directory.url, CacheKey(rawValue: "later")).directory
      try FileManager.default.createDirectory(atPath: later.path, withIntermediateDirectories: true)
      try Data("{\"version\":3}".utf8).write(to: URL(filePath: later.recordPath))
      let results = try await cache.verify()
      #expect(results.count == 4)
      #expect(results.allSatisfy { $0.problems.count == 1 })
      #expect(SystemFiles.names(in: stored.directory.path).count == 2)
      #expect(try stored.spans() == RangeSet(0..<length))
      #expect(SystemFiles.status(of: broken.path) == nil)
      #expect(SystemFiles.status(of: empty.path) == nil)
      #expect(SystemFiles.status(of: later.path) == nil)
      #expect(try await cache.entries().count == 1)
    }
  }
}
