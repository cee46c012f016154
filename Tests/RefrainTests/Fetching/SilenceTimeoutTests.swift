// SPDX-License-Identifier: MIT
import RefrainLocks
import Testing

@testable import Refrain

@Suite(.timeLimit(.minutes(1))) struct WatchdogTests {
  @Test func `A silence timeout fires once`() async throws {
    let silenceTimeout = SilenceTimeout()
    let count = Mutex(0)
    let watch = silenceTimeout.watch { count.withLock { $0 += 1 } }
    #expect(!watch.hasFired)
    watch.expect(within: .zero)
    try await eventually("the silence is ended") { watch.hasFired }
    watch.expect(within: .zero)
    let other = silenceTimeout.watch {}
    other.expect(within: .zero)
    try await eventually("the other silence is ended") { other.hasFired }
    #expect(count.withLock { $0 } == 1)
    silenceTimeout.forget(watch)
    silenceTimeout.forget(other)
  }

  @Test func `A resting, forgotten or patient watch does not fire`() async throws {
    let silenceTimeout = SilenceTimeout()
    let resting = silenceTimeout.watch { Issue.record("It rested.") }
    let forgotten = silenceTimeout.watch { Issue.record("It was forgotten.") }
    let patient = silenceTimeout.watch { Issue.record("There was time.") }
    resting.expect(within: .zero)
    resting.rest()
    patient.expect(within: .seconds(1000))
    silenceTimeout.forget(forgotten)
    forgotten.expect(within: .zero)
    let fired = silenceTimeout.watch {}
    fired.expect(within: .zero)
    try await eventually("a look is taken") { fired.hasFired }
    #expect(!resting.hasFired && !forgotten.hasFired && !patient.hasFired)
    for watch in [resting, patient, fired] { silenceTimeout.forget(watch) }
  }

  @Test func `A new watch fires after a pause without watches`() async throws {
    let silenceTimeout = SilenceTimeout()
    for _ in 0..<3 {
      let watch = silenceTimeout.watch {}
      watch.expect(within: .zero)
      try await eventually("the silence is ended") { watch.hasFired }
      silenceTimeout.forget(watch)
      try await Task.sleep(for: .milliseconds(Int64.random(in: 50...150)))
    }
  }

  @Test func `A forgotten watch is released`() async throws {
    final class Held: Sendable {}
    let silenceTimeout = SilenceTimeout()
    weak var held: Held?
    do {
      let object = Held()
      held = object
      let watch = silenceTimeout.watch { withExtendedLifetime(object) {} }
      silenceTimeout.forget(watch)
    }
    try await eventually("it is let go") { held == nil }
  }
}
