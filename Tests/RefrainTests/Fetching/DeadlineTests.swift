// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain

@Suite(.timeLimit(.minutes(1))) struct DeadlineTests {

  /// Waits until it is cancelled.
  @Sendable private func wait() async throws { try await Task.sleep(for: .seconds(3600)) }

  @Test func `A silent request is cancelled, and another one after it`() async throws {
    for _ in 0..<3 {
      let deadline = Deadline()
      deadline.expect(within: .zero)
      await #expect(throws: CancellationError.self) { try await deadline.run(wait) }
      #expect(deadline.end == .passed)
      try await Task.sleep(for: .milliseconds(Int64.random(in: 50...150)))
    }
  }

  @Test func `A resting, finished or patient request is not cancelled`() async throws {
    let (resting, finished) = (Deadline(), Deadline())
    let patient = Deadline()
    resting.expect(within: .zero)
    resting.rest()
    patient.expect(within: .seconds(1000))
    try await finished.run {}
    finished.expect(within: .zero)
    let waiting = [resting, patient].map { deadline in Task { try await deadline.run(wait) } }
    // The others have looked at their time by then.
    let passed = Deadline()
    passed.expect(within: .milliseconds(600))
    await #expect(throws: CancellationError.self) { try await passed.run(wait) }
    #expect(resting.end == nil && finished.end == nil && patient.end == nil)
    for task in waiting {
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
  }

  @Test func `A time that is set after a rest is noticed`() async throws {
    let deadline = Deadline()
    await #expect(throws: CancellationError.self) {
      try await deadline.run {
        deadline.expect(within: .seconds(1000))
        deadline.rest()
        deadline.expect(within: .zero)
        try await wait()
      }
    }
    #expect(deadline.end == .passed)
  }

  @Test(arguments: [true, false])
  func `A request can be ended before and after it begins`(_ isBefore: Bool) async throws {
    let deadline = Deadline()
    if isBefore { deadline.cancel() }
    let (began, begins) = AsyncStream.makeStream(of: Void.self)
    let request = Task {
      try await deadline.run {
        begins.yield()
        try await wait()
      }
    }
    if !isBefore {
      for await _ in began { break }
      deadline.cancel()
    }
    await #expect(throws: CancellationError.self) { try await request.value }
    #expect(deadline.end == .cancelled)
  }
}
