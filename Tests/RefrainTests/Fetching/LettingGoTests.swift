// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

/// The work that closing waits for, and the state after it.
@Suite(.timeLimit(.minutes(1))) struct LettingGoTests {
  @Test func `Closing does not wait for an authorization hook that does not return`() async throws {
    let (stream, end) = AsyncStream.makeStream(of: Void.self)
    // The task ignores cancellation.
    let blocked = Task { for await _ in stream {} }
    let calls = Atomic(0)
    let returns = Atomic(0)
    try await withCache({
      $0.authorize = { resource, _ in
        calls.add(1, ordering: .relaxed)
        await blocked.value
        returns.add(1, ordering: .relaxed)
        return resource
      }
    }) { test in
      test.origin.script("/a", .on(.all, .unauthorized))
      let reader = try await test.reader("/a")
      let read = Task { try await reader.bytes(in: 0..<10) }
      try await eventually("the hook is asked") { calls.load(ordering: .relaxed) == 1 }
      await test.cache.close()
      #expect(returns.load(ordering: .relaxed) == 0)
      await #expect(throws: MediaCacheError.self) { try await read.value }
    }
    end.finish()
    await blocked.value
    try await eventually("the hook has returned") { returns.load(ordering: .relaxed) == 1 }
  }

  @Test func `Closing the cache cancels a running authorization hook`() async throws {
    let gate = Gate()
    let calls = Atomic(0)
    let cancelled = Atomic(0)
    try await withCache({
      $0.authorize = { _, _ in
        calls.add(1, ordering: .relaxed)
        do { try await gate.wait() } catch {
          cancelled.add(1, ordering: .relaxed)
          throw error
        }
        return nil
      }
    }) { test in
      test.origin.script("/a", .on(.all, .unauthorized))
      let reader = try await test.reader("/a")
      let read = Task { try await reader.bytes(in: 0..<10) }
      try await eventually("the hook is asked") { calls.load(ordering: .relaxed) == 1 }
      await test.cache.close()
      _ = await read.result
      try await eventually("it is cancelled") { cancelled.load(ordering: .relaxed) == 1 }
    }
    gate.open()
  }

  @Test func `A live stream without readers ends and is released`() async throws {
    weak var entry: Entry?
    weak var table: EntryTable?
    weak var generation: Generation?
    try await withCache { test in
      test.origin.serve(.station(seed: 7), at: "/radio")
      let first = try await test.reader("/radio")
      _ = try await first.bytes(in: 0..<5 << 20)
      entry = first.entry
      table = test.cache.table
      generation = first.generation
      // A later reader begins a stream of its own, separate from the first.
      let second = try await test.reader("/radio")
      _ = try await second.bytes(in: 0..<1000)
      #expect(second.generation !== first.generation)
      first.cancel()
      second.cancel()
    }
    try await eventually("the stream ends") { generation == nil }
    try await eventually("the entry is released") { entry == nil }
    try await eventually("the cache is released") { table == nil }
  }

  @Test func `A live stream ends with its last reader while a later one continues`() async throws {
    try await withCache { test in
      test.origin.serve(.station(seed: 7), at: "/radio")
      weak var generation: Generation?
      let second: MediaReader
      do {
        let first = try await test.reader("/radio")
        _ = try await first.bytes(in: 0..<5 << 20)
        generation = first.generation
        second = try await test.reader("/radio")
        _ = try await second.bytes(in: 0..<1000)
        first.cancel()
      }
      try await eventually("the stream ends") { generation == nil }
      _ = try await second.bytes(in: 1000..<2000)
      second.cancel()
    }
  }
}
