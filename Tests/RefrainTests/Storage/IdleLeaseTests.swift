// SPDX-License-Identifier: MIT
import RefrainLocks
import TestSupport
import Testing

@testable import Refrain

/// Entries that are held without a reader: whoever needs room waits for them, and for no others.
@Suite(.timeLimit(.minutes(1))) struct IdleLeaseTests {
  @Test func `Idle leases are released when room is needed`() async throws {
    let directory = CacheDirectory(length: 2 << 20)
    try await directory.withCache(limit: 3 << 20) { cache in
      let reader = try await cache.open(directory.url("held"))
      _ = try await reader.bytes(in: 0..<directory.length)
      let held = Mutex(cache.hold(reader))
      let calls = Mutex(0)
      let hold = cache.releaseIdleLeases {
        calls.withLock { $0 += 1 }
        return held.withLock { $0.take() } != nil
      }
      reader.cancel()
      #expect(calls.withLock { $0 } == 0)
      try await directory.expectToPlay("other", from: cache)
      #expect(calls.withLock { $0 } > 0)
      #expect(held.withLock { $0 } == nil)
      cache.forgetIdleLeases(hold)
    }
  }

  @Test func `Entries are waited for if a holder releases one`() {
    let table = EntryTable()
    #expect(!table.releaseIdle())
    _ = table.addHolder { false }
    #expect(!table.releaseIdle())
    let held = table.addHolder { true }
    _ = table.addHolder { false }
    #expect(table.releaseIdle())
    table.removeHolder(held)
    #expect(!table.releaseIdle())
  }

  @Test func `Entries are being closed until that has ended`() async throws {
    let table = EntryTable(most: { 2 })
    let gates = (0..<2).map { _ in Gate() }
    table.close(CacheKey(rawValue: "a")) { try? await gates[0].wait() }
    table.close(CacheKey(rawValue: "b")) { try? await gates[1].wait() }
    Task { for gate in gates { gate.open() } }
    _ = await table.settle()
    #expect(table.isEmpty)
    #expect(await table.settle() == false)
  }
}
