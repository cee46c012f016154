// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

@Suite(.timeLimit(.minutes(1))) struct StoredMediaAttributesTests {
  private func cache(_ directory: URL, _ disk: any Disk) throws -> MediaCache {
    try MediaCache(directory: directory, configuration: TestCache.configuration(), disk: disk)
  }

  private func warnings(_ events: AsyncStream<CacheEvent>) async -> [String] {
    var warnings: [String] = []
    for await event in events { if case .warning(let text) = event { warnings.append(text) } }
    return warnings
  }

  @Test func `Only the entries folder receives the stored-media attributes`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let disk = WatchedDisk()
    let paths = Mutex<[String]>([])
    disk.fail { operation, path in
      if operation == .attributes { paths.withLock { $0.append(path) } }
      return nil
    }
    let cache = try cache(directory, disk)
    await cache.close()
    #expect(paths.withLock { $0 } == [directory.path(percentEncoded: false) + "entries"])
  }

  @Test(arguments: [nil, EPERM])
  func `The folder of private files receives them too, if it can`(_ error: Int32?) async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let disk = WatchedDisk()
    let cache = try cache(directory, disk)
    let paths = Mutex<[String]>([])
    disk.fail { operation, path in
      guard operation == .attributes else { return nil }
      paths.withLock { $0.append(path) }
      return error
    }
    try cache.privateFiles.replace("secret", with: [1, 2])
    #expect(paths.withLock { $0 }.map { $0.hasSuffix("/private") } == [true])
    #expect(try cache.privateFiles.contents(of: "secret", limit: 10)?.bytes == [1, 2])
    await cache.close()
  }

  @Test
  func `If the attributes are refused, the cache plays and warns the first listener`()
    async throws
  {
    let origin = try await OriginServer.start()
    origin.serve(.synthetic(seed: 3, length: 100_000), at: "/a")
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let disk = WatchedDisk()
    disk.fail { operation, _ in operation == .attributes ? EPERM : nil }
    let cache = try cache(directory, disk)
    let first = cache.events()
    let second = cache.events()
    let reader = try await cache.open(Resource(url: origin.url("/a")))
    #expect(try await reader.bytes(in: 0..<100_000).count == 100_000)
    reader.cancel()
    await cache.close()
    let told = await warnings(first)
    #expect(told.count == 1)
    #expect(told.allSatisfy { $0.contains("backups") && $0.contains(directory.lastPathComponent) })
    #expect(await warnings(second) == [])
    await origin.stop()
  }

  #if canImport(Darwin)
    @Test func `The entries folder is excluded from backups`() async throws {
      let directory = TestCache.temporaryDirectory()
      defer { try? FileManager.default.removeItem(at: directory) }
      let cache = try cache(directory, SystemDisk())
      let events = cache.events()
      await cache.close()
      #expect(await warnings(events) == [])
      let entries = directory.appending(path: "entries", directoryHint: .isDirectory)
      let values = try entries.resourceValues(forKeys: [.isExcludedFromBackupKey])
      #expect(values.isExcludedFromBackup == true)
    }
  #endif
}
