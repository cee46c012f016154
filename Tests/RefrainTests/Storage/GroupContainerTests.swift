// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// The system ends an app that is suspended while it holds a lock in the container of an app group.
@Suite(.timeLimit(.minutes(1))) struct GroupContainerTests {
  @Test(arguments: [
    ("/private/var/mobile/Containers/Shared/AppGroup/5B1F/Library/Caches/Refrain", true),
    ("/var/mobile/Containers/Shared/AppGroup/5B1F", true),
    (
      "/Users/me/Library/Developer/CoreSimulator/Devices/1/data/Containers/Shared/AppGroup/2/c",
      true
    ),
    ("/private/var/mobile/Containers/Data/Application/5B1F/Library/Caches/Refrain", false),
    // macOS suspends no app.
    ("/Users/me/Library/Group Containers/group.org.example/Refrain", false),
    ("/Users/me/Library/Caches/Refrain", false), ("/home/me/.cache/refrain", false),
    ("/home/me/Containers/Shared/AppGroups/x", false), ("/", false), ("", false),
  ])
  func `A path shows whether it is in an app group's container`(_ path: String, _ expected: Bool) {
    #expect(SystemDisk(for: path).locksFiles == !expected)
  }

  /// Whether another process may lock every file of the cache in every way.
  private func isUnlocked(_ directory: CacheDirectory) throws -> Bool {
    let disk = SystemDisk()
    let path = directory.path
    for name in ["a", "b"] where try WriterLock.isHeld(directory.stored(name).directory) {
      return false
    }
    let files = try FileManager.default.subpathsOfDirectory(atPath: path)
    for file in files where try disk.status(of: "\(path)/\(file)")?.kind == .file {
      let descriptor = try disk.open("\(path)/\(file)", .readWrite)
      defer { disk.close(descriptor) }
      guard try disk.lock(descriptor, .exclusive) else { return false }
      disk.unlock(descriptor, .exclusive)
    }
    return true
  }

  @Test(arguments: [true, false])
  func `Open entries hold no lock there, and elsewhere they do`(_ isInGroup: Bool) async throws {
    let directory = CacheDirectory(
      length: 1_000_017, at: isInGroup ? "Containers/Shared/AppGroup/1/cache" : "Own/1/cache")
    let cache = try directory.cache()
    let events = cache.events(includingTraffic: false)
    var readers: [MediaReader] = []
    for name in ["a", "b"] {
      let reader = try await cache.open(directory.url(name))
      try await directory.expectToPlay(0..<100_000, from: reader)
      readers.append(reader)
    }
    #expect(try isUnlocked(directory) == isInGroup)
    for reader in readers { reader.cancel() }
    await cache.close()
    let texts = await warnings(events)
    #expect(texts.count == (isInGroup ? 1 : 0))
    #expect(texts.allSatisfy { $0.contains("app group") && $0.contains("one process at a time") })
  }

  @Test func `What is stored there is found again, and the limit is kept`() async throws {
    let directory = CacheDirectory(length: 1_000_017, at: "Containers/Shared/AppGroup/1/cache")
    let limit: Int64 = 1_500_000
    for name in ["a", "b"] {
      try await directory.withCache(limit: limit) { try await $0.prefetch(directory.url(name)) }
      #expect(try directory.isRight(name))
      #expect(directory.allocated <= limit)
    }
    try await directory.withCache(limit: limit) { cache in
      try await #expect(cache.completeFile(for: directory.url("b")) != nil)
    }
  }
}
