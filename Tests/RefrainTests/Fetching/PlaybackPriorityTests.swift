// SPDX-License-Identifier: MIT
import RefrainLocks
import Testing

@testable import Refrain

@Suite(.timeLimit(.minutes(1))) struct NetworkGateTests {
  private final class Passed: Sendable {
    private let count = Atomic(0)
    var isPassed: Bool { count.load(ordering: .acquiring) > 0 }
    func pass() { count.add(1, ordering: .acquiringAndReleasing) }
  }

  private func wait(_ gate: PlaybackPriority, _ fetch: UInt64) -> (Task<Void, Never>, Passed) {
    let passed = Passed()
    let task = Task {
      await gate.waitTurn(fetch)
      passed.pass()
    }
    return (task, passed)
  }

  @Test func `A background fetch does not wait while no player fetches`() async {
    await PlaybackPriority().waitTurn(1)
  }

  @Test func `Background fetches continue when the last player's fetch has ended`() async {
    let gate = PlaybackPriority()
    gate.count(1)
    gate.count(1)
    let (first, passedFirst) = wait(gate, 1)
    let (second, passedSecond) = wait(gate, 2)
    gate.count(-1)
    for _ in 0..<100 { await Task.yield() }
    #expect(!passedFirst.isPassed && !passedSecond.isPassed)
    gate.count(-1)
    await first.value
    await second.value
  }

  @Test func `Only the fetch that a player waits for passes the gate`() async throws {
    let gate = PlaybackPriority()
    gate.count(1)
    let (first, passed) = wait(gate, 1)
    let (second, other) = wait(gate, 2)
    // The fetch may not be waiting yet.
    try await eventually("fetch 1 passes") {
      gate.letThrough(1)
      return passed.isPassed
    }
    await first.value
    #expect(!other.isPassed)
    gate.count(-1)
    await second.value
  }

  @Test func `A fetch that a player already waits for does not pause`() async {
    let gate = PlaybackPriority()
    gate.count(1)
    gate.letThrough(1)
    await gate.waitTurn(1) { true }
    #expect(gate.waitingCount == 0)
  }

  @Test func `A cancelled fetch stops waiting`() async {
    let gate = PlaybackPriority()
    gate.count(1)
    for _ in 0..<200 {
      let (task, _) = wait(gate, 1)
      if Bool.random() { await Task.yield() }
      task.cancel()
      await task.value
    }
  }
}
