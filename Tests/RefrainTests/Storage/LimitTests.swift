// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

/// Promise 3: the cache takes no more disk space than its limit, open entries included.
@Suite(.timeLimit(.minutes(1)))
struct LimitTests {
  private let length: Int64 = 2_000_000
  private let bytes = SyntheticBytes(seed: 1)

  private func url(_ name: String) throws -> URL {
    try #require(URL(string: "http://origin.test/\(name).wav"))
  }

  private func configuration(_ transport: any Transport, _ limit: Int64?)
    -> MediaCache.Configuration
  {
    TestCache.configuration {
      $0.transport = transport
      $0.limit = limit
      $0.trustStored = true
    }
  }

  /// Creates a cache directory with these entries, stored whole, the first one used the longest
  /// ago.
  private func fill(_ directory: URL, _ names: [String]) async throws {
    let cache = try MediaCache(
      directory: directory,
      configuration: configuration(MemoryTransport(seed: 1, length: length), nil))
    for name in names { try await cache.prefetch(Resource(url: url(name))) }
    await cache.close()
    for (index, name) in names.enumerated() {
      let path = try StoredBytes(directory, url(name)).directory.recordPath
      SystemFiles.setChangeTime(of: path, to: 1_000_000_000 + Double(index) * 1000)
    }
  }

  private func storedNames(_ directory: URL, _ names: [String]) throws -> [String] {
    try names.filter { try !StoredBytes(directory, url($0)).usableSpans().isEmpty }
  }

  @Test(arguments: [200 << 10, 1 << 20, 3_333_333] as [Int64])
  func `An entry larger than the limit plays, and the limit holds at every instant`(
    _ limit: Int64
  ) async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let path = directory.path(percentEncoded: false)
    let most = Mutex(Int64(0))
    let disk = WatchedDisk { _ in
      let now = allocatedBytes(path)
      most.withLock { $0 = max($0, now) }
    }
    let length: Int64 = 9_000_011
    let cache = try MediaCache(
      directory: directory,
      configuration: configuration(MemoryTransport(seed: 1, length: length), limit), disk: disk)
    for name in ["one", "two"] {
      let reader = try await cache.open(Resource(url: url(name)))
      var offset: Int64 = 0
      for try await chunk in reader.chunks() {
        let range = offset..<offset + Int64(chunk.count)
        guard [UInt8](chunk) == bytes.bytes(in: range) else {
          Issue.record("wrong bytes in \(range)")
          break
        }
        offset = range.upperBound
      }
      #expect(offset == length)
      reader.cancel()
    }
    await cache.close()
    #expect(most.withLock { $0 } <= limit)
    #expect(most.withLock { $0 } > limit / 2)
    for name in ["one", "two"] {
      #expect(try StoredBytes(directory, url(name)).firstWrongByte(bytes) == nil)
    }
  }

  @Test func `Many readers of many entries stay under the limit together`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let path = directory.path(percentEncoded: false)
    let limit: Int64 = 4 << 20
    let most = Mutex(Int64(0))
    let disk = WatchedDisk { _ in
      let now = allocatedBytes(path)
      most.withLock { $0 = max($0, now) }
    }
    let cache = try MediaCache(
      directory: directory,
      configuration: configuration(MemoryTransport(seed: 1, length: length), limit), disk: disk)
    let bytes = bytes
    let length = length
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<6 {
        let url = try url("\(index)")
        group.addTask {
          for round in 0..<2 {
            let reader = try await cache.open(Resource(url: url))
            defer { reader.cancel() }
            let range = Int64(round * 500_000)..<length
            let all = try await reader.bytes(in: range)
            #expect([UInt8](all) == bytes.bytes(in: range))
          }
        }
      }
      try await group.waitForAll()
    }
    await cache.close()
    #expect(most.withLock { $0 } <= limit)
    for index in 0..<6 {
      #expect(try StoredBytes(directory, url("\(index)")).firstWrongByte(bytes) == nil)
    }
  }

  @Test
  func `The least recently used entries are evicted, and the last is shortened`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let names = ["c", "a", "d", "b"]
    try await fill(directory, names)
    let used = allocatedBytes(directory.path(percentEncoded: false))
    let cache = try MediaCache(
      directory: directory,
      configuration: configuration(MemoryTransport(seed: 1, length: length), used - 500_000))
    let events = cache.events()
    try await cache.prefetch(Resource(url: url("new")))
    try await #expect(
      cache.entries().map(\.key) == ["new", "b", "d", "a"].map { try CacheKey(url: url($0)) })
    await cache.close()
    var evicted: [CacheKey] = []
    for await event in events { if case .evicted(let key, _) = event { evicted.append(key) } }
    #expect(try evicted.first == CacheKey(url: url("c")))
    #expect(try Set(evicted).isSubset(of: [CacheKey(url: url("c")), CacheKey(url: url("a"))]))
    // Its age is unchanged.
    let shortened = try StoredBytes(directory, url("a"))
    #expect(SystemFiles.status(of: shortened.directory.recordPath)?.changed == 1_000_001_000)
    #expect(try shortened.firstWrongByte(bytes) == nil)
    let spans = try shortened.spans()
    #expect(spans.contains(0) && spans.byteCount < length && spans.ranges.count == 1)
  }

  @Test func `A shortened entry frees its blocks and is filled again`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    try await fill(directory, ["a"])
    let stored = try StoredBytes(directory, url("a"))
    let before = allocatedBytes(stored.directory.path)
    #expect(try stored.directory.shorten(by: 700_000) == CacheKey(url: url("a")))
    #expect(before - allocatedBytes(stored.directory.path) >= 700_000)
    #expect(try stored.firstWrongByte(bytes) == nil)
    let spans = try stored.spans()
    #expect(spans.byteCount <= length - 700_000 && spans.byteCount > length - 710_000)
    let origin = MemoryTransport(seed: 1, length: length)
    let cache = try MediaCache(directory: directory, configuration: configuration(origin, nil))
    let reader = try await cache.open(Resource(url: url("a")))
    try await #expect([UInt8](reader.bytes(in: 0..<length)) == bytes.bytes(in: 0..<length))
    reader.cancel()
    await cache.close()
    #expect(origin.received == RangeSet(0..<length).subtracting(spans))
    #expect(try stored.spans() == RangeSet(0..<length))
    #expect(try stored.firstWrongByte(bytes) == nil)
  }

  @Test func `An entry in use, here or in another cache, is not evicted`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    try await fill(directory, ["here", "there", "free", "later"])
    let used = allocatedBytes(directory.path(percentEncoded: false))
    let other = try MediaCache(
      directory: directory,
      configuration: configuration(MemoryTransport(seed: 1, length: length), nil))
    let there = try await other.open(Resource(url: url("there")))
    _ = try await there.bytes(in: 0..<10)
    let cache = try MediaCache(
      directory: directory,
      configuration: configuration(MemoryTransport(seed: 1, length: length), used))
    let here = try await cache.open(Resource(url: url("here")))
    _ = try await here.bytes(in: 0..<10)
    // Opening made them the most recent; their age must not protect them.
    for name in ["here", "there"] {
      try SystemFiles.setChangeTime(
        of: StoredBytes(directory, url(name)).directory.recordPath, to: 1000)
    }
    try await cache.prefetch(Resource(url: url("new")))
    #expect(
      try storedNames(directory, ["here", "there", "free", "later", "new"])
        == ["here", "there", "later", "new"])
    for reader in [here, there] {
      try await #expect([UInt8](reader.bytes(in: 0..<length)) == bytes.bytes(in: 0..<length))
    }
    #expect(here.statistics.requests + there.statistics.requests == 0)
    here.cancel()
    there.cancel()
    await cache.close()
    await other.close()
  }

  @Test func `An entry that another process reads is not evicted`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try await OriginServer.start()
    for name in ["held", "new"] {
      origin.serve(.synthetic(seed: 1, length: length), at: "/\(name).wav")
    }
    let held = origin.url("/held.wav")
    let count = Int64(length)
    try await withCache(directory: directory, origin: origin) { test in
      try await test.cache.prefetch(Resource(url: held))
    }
    let child = try await onThread { () -> Sending in
      let child = try ChildProcess("hold", directory, held, UInt64(count))
      // The child reports that it has read.
      while let byte = child.read(1).first, byte != UInt8(ascii: "\n") {}
      return Sending(child)
    }
    try await withCache(
      directory: directory, origin: origin,
      { $0.limit = count + (1 << 20) }
    ) { test in
      try await #expect(test.read("/new.wav") == bytes.bytes(in: 0..<length))
    }
    #expect(try StoredBytes(directory, held).spans() == RangeSet(0..<length))
    #expect(try StoredBytes(directory, held).firstWrongByte(bytes) == nil)
    let status = try await onThread {
      child.child.endInput()
      return child.child.wait()
    }
    #expect(status == 0)
    // The entry is no longer in use.
    try await withCache(
      directory: directory, origin: origin, { $0.limit = count + (1 << 20) }
    ) { test in
      try await test.cache.prefetch(Resource(url: origin.url("/new.wav")))
      #expect(try StoredBytes(directory, held).usableSpans().byteCount < length)
    }
    await origin.stop()
  }
}

/// A child passed between threads, of which one at a time uses it.
struct Sending: @unchecked Sendable {
  let child: ChildProcess
  init(_ child: ChildProcess) { self.child = child }
}
