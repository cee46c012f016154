// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks
import TestSupport
import Testing

@testable import RefrainCLI

@Suite(.timeLimit(.minutes(1)))
struct GetQueueTests {
  @Test func `Small resources widen the fetch window, and a large one narrows it to one`() {
    var window = GetWindow()
    #expect(window.width == 1)
    for width in [2, 4, 8, 8] {
      window.fetched(2000)
      #expect(window.width == width)
    }
    window.fetched(1 << 30)
    #expect(window.width == 1)
    window.fetched(2000)
    window.fetched(nil)
    #expect(window.width == 1)
  }

  /// Counts the items that run at the same time.
  private final class Running: Sendable {
    private let state = Mutex((now: 0, most: 0))

    var most: Int { state.withLock(\.most) }
    var now: Int { state.withLock(\.now) }

    func begin() { state.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }
    func end() { state.withLock { $0.now -= 1 } }
  }

  @Test
  func `Small resources are fetched concurrently, and large ones one at a time`() async throws {
    let running = Running()
    var reported: [Int] = []
    try await GetQueue(items: Array(0..<40)).run { number, _ in
      running.begin()
      defer { running.end() }
      // The first of these find out that items are small; each then waits until 8 run.
      if number >= 7, number < 15 { try await eventually("8 run") { running.most == 8 } }
      return number < 20 ? 1000 : 1 << 30
    } report: { number, result in
      #expect(throws: Never.self) { try result.get() }
      reported.append(number)
    }
    #expect(reported == Array(0..<40))
    #expect(running.most == GetWindow.widest)

    let alone = Running()
    try await GetQueue(items: Array(0..<10)).run { _, _ in
      alone.begin()
      defer { alone.end() }
      await Task.yield()
      return 1 << 30
    } report: { _, _ in
    }
    #expect(alone.most == 1)
  }

  private struct Failure: Error {}

  @Test func `A failure is reported in order, and the other fetches continue`() async throws {
    var outcomes: [Bool] = []
    try await GetQueue(items: Array(0..<12)).run { number, turn in
      if number == 5 {
        try await eventually("all before it are reported") { turn.hasCome }
        throw Failure()
      }
      return 10
    } report: { _, result in
      if case .success = result { outcomes.append(true) } else { outcomes.append(false) }
    }
    #expect(outcomes == (0..<12).map { $0 != 5 })
  }

  @Test func `An error thrown by the report closure ends the remaining fetches`() async throws {
    let began = Running()
    await #expect(throws: Failure.self) {
      try await GetQueue(items: Array(0..<100)).run { _, _ in
        began.begin()
        return 1 << 30
      } report: { number, _ in
        if number == 1 { throw Failure() }
      }
    }
    #expect(began.most == 2)
  }
}
