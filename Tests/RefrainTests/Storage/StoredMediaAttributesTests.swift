// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks
import Testing

@testable import Refrain

@Suite(.timeLimit(.minutes(1))) struct StoredMediaAttributesTests {
  private let directory = CacheDirectory(length: 100_000)

  @Test func `Only the entries folder receives the stored-media attributes`() async throws {
    let disk = WatchedDisk()
    let paths = Mutex<[String]>([])
    disk.fail { operation, path in
      if operation == .attributes { paths.withLock { $0.append(path) } }
      return nil
    }
    let cache = try directory.cache(disk: disk)
    await cache.close()
    #expect(paths.withLock { $0 } == [directory.path + "/entries"])
  }

  @Test(arguments: [nil, EPERM])
  func `The folder of private files receives them too, if it can`(_ error: Int32?) async throws {
    let disk = WatchedDisk()
    let cache = try directory.cache(disk: disk)
    let paths = Mutex<[String]>([])
    disk.fail { operation, path in
      guard operation == .attributes else { return nil }
      paths.withLock { $0.append(path) }
      return error
    }
    try cache.privateFiles.replace("secret", with: [1, 2])
    #expect(paths.withLock { $0 }.map { $0.hasSuffix("/private") } == [true])
    #expect(try cache.privateFiles.contents(of: "secret", limit: 10) == [1, 2])
    await cache.close()
  }

  @Test
  func `If the attributes are refused, the cache plays and warns the first listener`()
    async throws
  {
    let disk = WatchedDisk()
    disk.fail { operation, _ in operation == .attributes ? EPERM : nil }
    let cache = try directory.cache(disk: disk)
    let first = cache.events()
    let second = cache.events()
    try await directory.expectToPlay(from: cache)
    await cache.close()
    let told = await warnings(first)
    #expect(told.count == 1)
    #expect(
      told.allSatisfy { $0.contains("backups") && $0.contains(directory.url.lastPathComponent) })
    #expect(await warnings(second) == [])
  }

  #if canImport(Darwin)
    @Test func `The entries folder is excluded from backups`() async throws {
      let cache = try directory.cache()
      let events = cache.events()
      await cache.close()
      #expect(await warnings(events) == [])
      let entries = directory.url.appending(path: "entries", directoryHint: .isDirectory)
      let values = try entries.resourceValues(forKeys: [.isExcludedFromBackupKey])
      #expect(values.isExcludedFromBackup == true)
    }
  #endif
}
