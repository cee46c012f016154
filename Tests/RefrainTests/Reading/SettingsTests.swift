// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

/// Settings that change while the cache is in use.
@Suite(.timeLimit(.minutes(1))) struct SettingsTests {
  private let bytes = SyntheticBytes(seed: 3)

  @Test
  func `An offline cache reads stored bytes without requests and reports holes`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 3, length: 1_000_003), at: "/a")
      _ = try await test.read("/a", 200_000..<210_000)
      await test.cache.close()
      test.origin.resetLog("/a")
      try await test.reopened({ $0.offline = true }) { later in
        for fill in [FillPolicy.onDemand, .wholeResource] {
          let reader = try await later.reader("/a", fill: fill)
          defer { reader.cancel() }
          try await #expect(reader.contentInformation().length == 1_000_003)
          let stored: ByteRange = 200_000..<210_000
          try await #expect(Array(reader.bytes(in: stored)) == bytes.bytes(in: stored))
          let error = await expectError(.offline) { try await reader.bytes(in: 0..<10) }
          #expect(error?.remedy.isEmpty == false)
          let unknown = try await later.reader("/other", fill: fill)
          defer { unknown.cancel() }
          await expectError(.offline) { try await unknown.contentInformation() }
        }
        await expectError(.offline) { try await later.cache.prefetch(later.origin.url("/a")) }
      }
      for path in ["/a", "/other"] { #expect(test.origin.log(path).requests.isEmpty) }
    }
  }

  @Test func `Going offline ends requests and waits, and keeps the received bytes`() async throws {
    try await withCache { test in
      var resource = OriginResource.synthetic(seed: 3, length: 8 << 20)
      resource.bytesPerSecond = 256 << 10
      test.origin.serve(resource, at: "/a.mp3")
      let reader = try await test.reader("/a.mp3")
      #expect(try await reader.waitUntilReadable(at: 0).count > 0)
      let waiting = Task { try await reader.bytes(in: 6 << 20..<7 << 20) }
      _ = try await test.origin.wait(for: "/a.mp3") { $0.requests.count == 2 }
      test.cache.isOffline = true
      await expectError(.offline) { try await waiting.value }
      let log = try await test.settledLog("/a.mp3")
      let stored = try await reader.waitUntilReadable(at: 0)
      #expect(try await reader.bytes(in: stored) == Data(bytes.bytes(in: stored)))
      // Another reader and another resource make no request either.
      await #expect(throws: MediaCacheError.self) { try await test.read("/a.mp3") }
      await #expect(throws: MediaCacheError.self) { try await test.read("/b.mp3") }
      #expect(test.origin.log("/a.mp3").requests.count == log.requests.count)
      #expect(test.origin.log("/b.mp3").requests.isEmpty)
      reader.cancel()
    }
  }

  @Test func `Going online requests the missing bytes, for open readers too`() async throws {
    try await withCache({ $0.offline = true }) { test in
      test.origin.serve(.synthetic(seed: 3, length: 300_000), at: "/a.mp3")
      let reader = try await test.reader("/a.mp3")
      defer { reader.cancel() }
      await expectError(.offline) { try await reader.bytes(in: 0..<1000) }
      test.cache.isOffline = false
      #expect(try await reader.bytes(in: 0..<300_000) == Data(bytes.bytes(in: 0..<300_000)))
    }
  }

  private final class End: Sendable {
    let hasCome = Mutex(false)
  }

  /// Readers, seeks and new versions at the moments at which the cache goes offline and online.
  @Test(arguments: 0..<8)
  func `No request runs once the cache is offline, whenever it went there`(case number: Int)
    async throws
  {
    let seed = TestSeed.next() &+ UInt64(number)
    // Counts requests as they are sent: the origin may read one after its sender has left.
    let curl = MediaCache.platformTransport()
    let transport = ScriptedTransport { try await curl.send($0) }
    try await withCache({ $0.transport = transport }) { test in
      let length: Int64 = 4 << 20
      let end = End()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<6 {
          var random = SeededGenerator(seed: seed &+ UInt64(index))
          group.addTask {
            var round: UInt64 = 0
            while !end.hasCome.withLock({ $0 }) {
              round += 1
              if index == 0 {
                test.origin.serve(.synthetic(seed: round, length: length), at: "/a")
              }
              let start = Int64.random(in: 0..<length, using: &random)
              // Offline, or changed meanwhile.
              _ = try? await test.read("/a", start..<min(length, start + 300_000))
              // A read of stored bytes does not suspend; the others need the threads as well.
              await Task.yield()
            }
          }
        }
        group.addTask {
          for round in 0..<41 {
            test.cache.isOffline = !round.isMultiple(of: 2)
            for _ in 0..<round { await Task.yield() }
          }
          end.hasCome.withLock { $0 = true }
        }
        try await group.waitForAll()
      }
      test.cache.isOffline = false
      let reader = try await test.reader("/a", fill: .wholeResource)
      defer { reader.cancel() }
      _ = try? await reader.waitUntilReadable(at: 0)
      test.cache.isOffline = true
      try await eventually("the fetches end") {
        reader.generation.withState { $0.fetches.isEmpty }
      }
      let requests = transport.requests.count
      for start in stride(from: 0, to: length, by: 500_000) {
        _ = try? await test.read("/a", start..<start + 1)
      }
      #expect(transport.requests.count == requests, "seed \(seed)")
    }
  }

  @Test func `A limit that is set again evicts entries stored without one`() async throws {
    try await withCache({ $0.limit = 64 << 20 }) { test in
      for name in ["a", "b", "c"] {
        test.origin.serve(.synthetic(seed: 3, length: 1 << 20), at: "/\(name)")
      }
      _ = try await test.read("/a")
      #expect(await test.cache.setLimit(32 << 20))
      #expect(await test.cache.setLimit(nil))
      _ = try await test.read("/b")
      _ = try await test.read("/c")
      try await test.closed()
      #expect(await test.cache.setLimit(1 << 20))
      #expect(try await test.cache.usage().allocatedBytes <= 1 << 20)
    }
  }

  @Test func `A lower limit evicts the least recently used entries at once`() async throws {
    try await withCache { test in
      for name in ["a", "b", "c", "d"] {
        test.origin.serve(.synthetic(seed: 3, length: 1 << 20), at: "/\(name)")
        #expect(try await test.read("/\(name)").count == 1 << 20)
        // The last access is recorded when the entry is closed.
        try await test.closed()
      }
      #expect(test.cache.limit == nil)
      #expect(await test.cache.setLimit(3 << 20))
      let usage = try await test.cache.usage()
      #expect(usage.limit == 3 << 20)
      #expect(usage.allocatedBytes <= 3 << 20)
      #expect(try await test.cache.completeFile(for: test.origin.url("/d")) != nil)
      // The new limit holds for further bytes.
      #expect(try await test.read("/a").count == 1 << 20)
      #expect(try await test.cache.usage().allocatedBytes <= 3 << 20)
    }
  }

  @Test func `A limit below the entries in use is reported, and holds once they are closed`()
    async throws
  {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 3, length: 2 << 20), at: "/a")
      let reader = try await test.reader("/a")
      #expect(try await reader.bytes(in: 0..<2 << 20).count == 2 << 20)
      #expect(await test.cache.setLimit(1 << 20) == false)
      #expect(try await reader.bytes(in: 0..<2 << 20) == Data(bytes.bytes(in: 0..<2 << 20)))
      reader.cancel()
      try await eventually("the entry is closed and evicted") {
        await test.cache.setLimit(1 << 20)
      }
      #expect(try await test.cache.usage().allocatedBytes <= 1 << 20)
    }
  }

  @Test func `A network policy applies to the next request`() async throws {
    let memory = MemoryTransport(seed: 3, length: 1 << 20)
    let transport = ScriptedTransport { try await memory.send($0) }
    let url = try #require(URL(string: "http://h/a"))
    try await withTransport(transport) { cache in
      try await cache.prefetch(url, range: 0..<1000)
      cache.network.prefetch.allowsExpensive = false
      try await cache.prefetch(url, range: 500_000..<501_000)
      let access = transport.requests("/a").map(\.access.allowsExpensive)
      #expect(access.first == true && access.last == false)
      #expect(cache.network.prefetch.allowsExpensive == false)
    }
  }
}
