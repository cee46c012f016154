// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks
import Testing

@testable import Refrain

/// `MediaCache.tryDisk`, for health checks.
@Suite(.timeLimit(.minutes(1))) struct DiskTrialTests {
  @Test func `Trials at the same time do not disturb each other`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let disk = WatchedDisk()
    let files = Mutex<[String]>([])
    let cache = try MediaCache(
      directory: directory, configuration: TestCache.configuration(), disk: disk)
    disk.fail { operation, path in
      if operation == .open, path.contains("/trial-") { files.withLock { $0.append(path) } }
      return nil
    }
    await withTaskGroup(of: MediaCache.DiskTrial.self) { group in
      for _ in 0..<20 { group.addTask { await cache.tryDisk() } }
      for await trial in group { #expect(trial == .works) }
    }
    let created = files.withLock { $0 }
    #expect(created.count == 20 && Set(created).count == 20)
    let left = SystemFiles.names(in: directory.path(percentEncoded: false))
    #expect(!left.contains { $0.hasPrefix("trial") })
    await cache.close()
  }
}
