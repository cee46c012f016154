// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks
import Testing

@testable import Refrain

/// `MediaCache.tryDisk`, for health checks.
@Suite(.timeLimit(.minutes(1))) struct DiskTrialTests {
  private let directory = CacheDirectory(length: 2000)

  @Test func `Trials at the same time do not disturb each other`() async throws {
    let disk = WatchedDisk()
    let files = Mutex<[String]>([])
    let cache = try directory.cache(disk: disk)
    disk.fail { operation, path in
      if operation == .open, path.contains("/trial-") { files.withLock { $0.append(path) } }
      return nil
    }
    await withTaskGroup(of: String.self) { group in
      for _ in 0..<20 { group.addTask { await cache.tryDisk() } }
      for await trial in group { #expect(trial == "works") }
    }
    let created = files.withLock { $0 }
    #expect(created.count == 20 && Set(created).count == 20)
    let left = SystemFiles.names(in: directory.path)
    #expect(!left.contains { $0.hasPrefix("trial") })
    await cache.close()
  }

  private final class Begun: Sendable {
    let count = Mutex(0)
  }

  @Test func `A trial does not wait for work on the other threads`() async throws {
    let cache = try directory.cache()
    let (begun, gate) = (Begun(), DispatchSemaphore(value: 0))
    // A semaphore must not be waited for in the closure of a task.
    @Sendable func wait() {
      begun.count.withLock { $0 += 1 }
      gate.wait()
    }
    // As many as there are, in the way of sweeps that take long.
    let busy = (0..<8).map { _ in Task(executorPreference: IOThreads.background) { wait() } }
    try await eventually("all are busy") { begun.count.withLock { $0 } == 8 }
    #expect(await cache.tryDisk() == "works")
    for _ in busy { gate.signal() }
    for task in busy { await task.value }
    await cache.close()
  }
}
