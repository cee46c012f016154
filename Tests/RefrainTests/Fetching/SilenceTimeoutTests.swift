// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain

@Suite(.timeLimit(.minutes(1))) struct WatchdogTests {
  private let timeout = SilenceTimeout()

  /// Waits until it is cancelled.
  @Sendable private func wait() async throws { try await Task.sleep(for: .seconds(3600)) }

  @Test func `A silent request is cancelled, and another one after it`() async throws {
    for _ in 0..<3 {
      let watch = SilenceTimeout.Watch()
      watch.expect(within: .zero)
      await #expect(throws: CancellationError.self) { try await timeout.run(watch, wait) }
      #expect(watch.hasFired)
      try await Task.sleep(for: .milliseconds(Int64.random(in: 50...150)))
    }
  }

  @Test func `A resting, finished or patient request is not cancelled`() async throws {
    let (resting, finished) = (SilenceTimeout.Watch(), SilenceTimeout.Watch())
    let patient = SilenceTimeout.Watch()
    resting.expect(within: .zero)
    resting.rest()
    patient.expect(within: .seconds(1000))
    await timeout.run(finished) {}
    finished.expect(within: .zero)
    let waiting = [resting, patient].map { watch in Task { try await timeout.run(watch, wait) } }
    let fired = SilenceTimeout.Watch()
    fired.expect(within: .zero)
    await #expect(throws: CancellationError.self) { try await timeout.run(fired, wait) }
    #expect(!resting.hasFired && !finished.hasFired && !patient.hasFired)
    for task in waiting {
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
  }

  @Test(arguments: [true, false])
  func `A request can be ended before and after it begins`(_ isBefore: Bool) async throws {
    let watch = SilenceTimeout.Watch()
    if isBefore { watch.cancel() }
    let (began, begins) = AsyncStream.makeStream(of: Void.self)
    let request = Task {
      try await timeout.run(watch) {
        begins.yield()
        try await wait()
      }
    }
    if !isBefore {
      for await _ in began { break }
      watch.cancel()
    }
    await #expect(throws: CancellationError.self) { try await request.value }
    #expect(!watch.hasFired)
  }
}
