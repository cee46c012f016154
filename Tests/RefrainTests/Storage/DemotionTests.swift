// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

/// Entries that go first when room is needed, however recently they were used.
@Suite(.timeLimit(.minutes(1))) struct DemotionTests {
  private let length: Int64 = 400_000
  /// The stream to which all entries belong, unless a test says otherwise.
  private static let stream = CacheKey(rawValue: "http://origin.test/live.m3u8")

  private func serve(_ names: [String], on test: TestCache) async throws {
    for name in names {
      test.origin.serve(.synthetic(seed: 1, length: length), at: name)
      try await store(name, in: test)
    }
  }

  private func store(
    _ name: String, in test: TestCache, of stream: CacheKey? = DemotionTests.stream
  ) async throws {
    var resource = Resource(url: test.origin.url(name))
    resource.membership = stream.map { StreamMembership(stream: $0) }
    try await test.cache.prefetch(resource)
    try await eventually("\(name) is closed") { test.cache.context.table.isEmpty }
  }

  private func key(_ name: String, _ test: TestCache) -> CacheKey {
    test.cache.key(for: Resource(url: test.origin.url(name)))
  }

  private func demote(
    _ names: [String], _ test: TestCache, unusedSince time: Date = .distantFuture
  ) async -> [MediaCache.Demotion] {
    await test.cache.demote(
      names.map { key($0, test) }, of: [Self.stream], unusedSince: time)
  }

  private func isStored(_ name: String, _ test: TestCache) async throws -> Bool {
    try await test.cache.entry(for: key(name, test)) != nil
  }

  private func isDemoted(_ outcome: MediaCache.Demotion?) -> Bool {
    if case .demoted(let bytes) = outcome { return bytes >= length }
    return false
  }

  @Test func `A demoted entry is evicted before older ones, also by a later process`()
    async throws
  {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try await OriginServer.start()
    for isLater in [false, true] {
      try await withCache(directory: directory, origin: origin, { $0.limit = 1_900_000 }) {
        test async throws in
        if !isLater {
          try await serve(["/a", "/b", "/c"], on: test)
          let outcomes = await demote(["/b"], test)
          #expect(outcomes.count == 1 && isDemoted(outcomes.first))
          let used = try #require(try await test.cache.entry(for: key("/b", test))).lastAccess
          #expect(abs(used.timeIntervalSinceNow) < 100)
        } else {
          try await serve(["/d", "/e"], on: test)
          var stored: [Bool] = []
          for name in ["/a", "/b", "/c"] { stored.append(try await isStored(name, test)) }
          #expect(stored == [true, false, true])
        }
      }
    }
    await origin.stop()
  }

  @Test func `An entry in use, pinned, used later, or missing is not demoted`() async throws {
    try await withCache { test async throws in
      try await serve(["/open", "/pinned", "/used"], on: test)
      let reader = try await test.reader("/open")
      _ = try await reader.bytes(in: 0..<1000)
      _ = try await test.cache.pin(key("/pinned", test))
      let names = ["/open", "/pinned", "/used", "/missing"]
      let outcomes = await demote(names, test, unusedSince: Date(timeIntervalSinceNow: -1000))
      reader.cancel()
      #expect(outcomes[0] == .inUse && outcomes[1] == .pinned && outcomes[3] == .missing)
      guard case .used(let time) = outcomes[2] else {
        Issue.record("\(outcomes[2])")
        return
      }
      #expect(abs(time.timeIntervalSinceNow) < 100)
    }
  }

  @Test func `An entry of another stream, or of none, is not demoted`() async throws {
    try await withCache { test async throws in
      for name in ["/film", "/other", "/own"] {
        test.origin.serve(.synthetic(seed: 1, length: length), at: name)
      }
      try await store("/film", in: test, of: nil)
      try await store("/other", in: test, of: CacheKey(rawValue: "http://origin.test/other.m3u8"))
      try await store("/own", in: test)
      let outcomes = await demote(["/film", "/other", "/own"], test)
      #expect(outcomes.prefix(2) == [.foreign, .foreign] && isDemoted(outcomes.last))
      let removed = await test.cache.removeDemoted(["/film", "/other"].map { key($0, test) })
      #expect(removed == 0)
      for name in ["/film", "/other"] { #expect(try await isStored(name, test), "\(name)") }
    }
  }

  @Test func `Only demoted entries that were not used since are removed`() async throws {
    try await withCache { test async throws in
      try await serve(["/a", "/b", "/c"], on: test)
      let keys = ["/a", "/b"].map { key($0, test) }
      let outcomes = await demote(["/a", "/b"], test)
      #expect(outcomes.count == 2 && outcomes.allSatisfy { isDemoted($0) })
      try await store("/b", in: test)
      #expect(try await test.read("/b", 0..<10).count == 10)
      try await eventually("it is closed") { test.cache.context.table.isEmpty }
      let freed = await test.cache.removeDemoted(keys + [key("/c", test)])
      #expect(freed >= length && freed < 2 * length)
      var stored: [Bool] = []
      for name in ["/a", "/b", "/c"] { stored.append(try await isStored(name, test)) }
      #expect(stored == [false, true, true])
    }
  }

  @Test func `A demoted entry counts as used later too`() async throws {
    try await withCache { test async throws in
      try await serve(["/a"], on: test)
      let first = await demote(["/a"], test)
      #expect(isDemoted(first.first))
      let next = await demote(["/a"], test, unusedSince: Date(timeIntervalSinceNow: -1000))
      guard case .used(let time) = next.first else {
        Issue.record("\(next)")
        return
      }
      #expect(abs(time.timeIntervalSinceNow) < 100)
    }
  }

  @Test func `An entry that is opened while it is demoted counts as just used`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let disk = AgingDisk()
    let cache = try MediaCache(
      directory: directory,
      configuration: TestCache.configuration {
        $0.transport = MemoryTransport(seed: 1, length: length)
      }, disk: disk)
    var resource = Resource(url: try #require(URL(string: "http://origin.test/a")))
    resource.membership = StreamMembership(stream: Self.stream)
    try await cache.prefetch(resource)
    let key = cache.key(for: resource)
    try await eventually("it is closed") { cache.context.table.isEmpty }
    let (budget, name) = (cache.context.budget, KeyHash.name(of: key))
    disk.onNextAging { budget.markOpen(name) }
    #expect(await cache.demote([key], of: [Self.stream], unusedSince: .distantFuture) == [.inUse])
    let used = try #require(try budget.measure(name)).lastAccess
    #expect(abs(Date(timeIntervalSince1970: used).timeIntervalSinceNow) < 100)
    budget.markClosed(name)
    await cache.close()
  }

  @Test func `Their budget is a small part of the limit`() async throws {
    try await withCache { test async throws in
      #expect(test.cache.demotedLimit == 256 << 20)
      await test.cache.setLimit(1 << 30)
      #expect(test.cache.demotedLimit == 64 << 20)
    }
  }
}

/// The system's disk; something happens once after the time of a file was set.
private final class AgingDisk: DiskLayer {
  let system = SystemDisk()
  private struct Work: Sendable { let run: @Sendable () -> Void }
  private let work = Mutex<Work?>(nil)

  func onNextAging(_ run: @Sendable @escaping () -> Void) {
    work.withLock { $0 = Work(run: run) }
  }

  func setChangeTime(of path: String, to time: Double) throws(DiskError) {
    try system.setChangeTime(of: path, to: time)
    let work = work.withLock { work in
      defer { work = nil }
      return work
    }
    work?.run()
  }
}
