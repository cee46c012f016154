// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks
import TestSupport
import Testing

@testable import Refrain

@Suite(.timeLimit(.minutes(1)))
struct DirectorySyncsTests {
  /// A disk whose first sync of a directory lasts until it is released.
  private final class SlowDisk: DiskLayer {
    let system = SystemDisk()
    private let began = Mutex(0)
    private let gate = DispatchSemaphore(value: 0)
    private let fails: Bool

    init(fails: Bool = false) { self.fails = fails }

    var count: Int { began.withLock(\.self) }

    func letGo() { gate.signal() }

    func syncDirectory(_ path: String) throws(DiskError) {
      let number = began.withLock { began in
        began += 1
        return began
      }
      guard number == 1 else { return }
      gate.wait()
      if fails { throw DiskError(operation: "fsync", path: path, code: EIO) }
    }
  }

  /// Counts how calls of `DirectorySyncs.sync` ended.
  private final class Outcomes: Sendable {
    private let counts = Mutex((finished: 0, failed: 0))

    var finished: Int { counts.withLock(\.finished) }
    var failed: Int { counts.withLock(\.failed) }

    func note(isFailed: Bool) {
      counts.withLock { $0 = ($0.finished + 1, $0.failed + (isFailed ? 1 : 0)) }
    }
  }

  /// Syncs on a separate thread, because the call blocks.
  private static func start(_ syncs: DirectorySyncs, _ disk: SlowDisk, _ outcomes: Outcomes) {
    Thread {
      do {
        try syncs.sync("/d", disk)
        outcomes.note(isFailed: false)
      } catch {
        outcomes.note(isFailed: true)
      }
    }.start()
  }

  /// Runs one sync, and three more that are requested while it runs.
  private func run(_ disk: SlowDisk) async throws -> (failed: Int, waited: Int) {
    let (syncs, outcomes) = (DirectorySyncs(), Outcomes())
    Self.start(syncs, disk, outcomes)
    try await eventually("the first began") { disk.count == 1 }
    for _ in 0..<3 { Self.start(syncs, disk, outcomes) }
    try await eventually("the others ask") { syncs.callers(of: "/d") == 4 }
    let waited = 4 - outcomes.finished
    disk.letGo()
    try await eventually("all have ended") { outcomes.finished == 4 }
    #expect(syncs.callers(of: "/d") == 0)
    return (outcomes.failed, waited)
  }

  @Test func `Callers that arrive during a sync share the next one`() async throws {
    let disk = SlowDisk()
    let (failed, waited) = try await run(disk)
    #expect(failed == 0)
    // A sync that began before their call may have missed their changes.
    #expect(waited == 4)
    #expect(disk.count == 2)
  }

  @Test
  func `A failed sync is reported only to its caller, and waiting callers sync again`()
    async throws
  {
    let disk = SlowDisk(fails: true)
    let (failed, _) = try await run(disk)
    #expect(failed == 1)
    #expect(disk.count == 2)
  }

  @Test func `Consecutive calls each run their own sync`() throws {
    let disk = SlowDisk()
    disk.letGo()
    let syncs = DirectorySyncs()
    for _ in 0..<3 { try syncs.sync("/d", disk) }
    #expect(disk.count == 3)
  }
}
