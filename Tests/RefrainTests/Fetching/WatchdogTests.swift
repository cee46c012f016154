// SPDX-License-Identifier: MIT
import Synchronization
import Testing

@testable import Refrain

@Suite(.timeLimit(.minutes(1))) struct WatchdogTests {
  @Test func `Silence is ended once`() async throws {
    let watchdog = Watchdog()
    let count = Mutex(0)
    let watch = watchdog.watch { count.withLock { $0 += 1 } }
    #expect(!watch.hasFired)
    watch.expect(within: .zero)
    try await eventually("the silence is ended") { watch.hasFired }
    watch.expect(within: .zero)
    let other = watchdog.watch {}
    other.expect(within: .zero)
    try await eventually("the other silence is ended") { other.hasFired }
    #expect(count.withLock { $0 } == 1)
    watchdog.forget(watch)
    watchdog.forget(other)
  }

  @Test func `What rests, or was forgotten, is left alone`() async throws {
    let watchdog = Watchdog()
    let resting = watchdog.watch { Issue.record("It rested.") }
    let forgotten = watchdog.watch { Issue.record("It was forgotten.") }
    let patient = watchdog.watch { Issue.record("There was time.") }
    resting.expect(within: .zero)
    resting.rest()
    patient.expect(within: .seconds(1000))
    watchdog.forget(forgotten)
    forgotten.expect(within: .zero)
    let fired = watchdog.watch {}
    fired.expect(within: .zero)
    try await eventually("a look is taken") { fired.hasFired }
    #expect(!resting.hasFired && !forgotten.hasFired && !patient.hasFired)
    for watch in [resting, patient, fired] { watchdog.forget(watch) }
  }

  @Test func `It begins to look again after it had nothing to look after`() async throws {
    let watchdog = Watchdog()
    for _ in 0..<3 {
      let watch = watchdog.watch {}
      watch.expect(within: .zero)
      try await eventually("the silence is ended") { watch.hasFired }
      watchdog.forget(watch)
      try await Task.sleep(for: .milliseconds(Int64.random(in: 50...150)))
    }
  }

  @Test func `What is forgotten is let go`() async throws {
    final class Held: Sendable {}
    let watchdog = Watchdog()
    weak var held: Held?
    do {
      let object = Held()
      held = object
      let watch = watchdog.watch { withExtendedLifetime(object) {} }
      watchdog.forget(watch)
    }
    try await eventually("it is let go") { held == nil }
  }
}
