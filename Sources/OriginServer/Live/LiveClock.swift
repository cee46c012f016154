// SPDX-License-Identifier: MIT

public import Foundation
internal import NIOCore
internal import RefrainLocks

/// The clock of live streams: it runs by itself, or a test moves it.
public final class LiveClock: Sendable {
  private struct Waiter {
    let time: Duration
    let loop: any EventLoop
    let body: @Sendable () -> Void
  }

  private struct State {
    var passed = Duration.zero
    var waiters: [Waiter] = []
  }

  /// The date at time zero.
  public let start = Date()
  /// When a running clock began; nil if the clock stands still.
  private let beginning: ContinuousClock.Instant?
  private let state = Mutex(State())

  private init(beginning: ContinuousClock.Instant?) { self.beginning = beginning }

  /// A clock that begins at zero now, and runs.
  public static func running() -> LiveClock { LiveClock(beginning: .now) }

  /// A clock that stands at zero, until `advance(to:)`.
  public static func standing() -> LiveClock { LiveClock(beginning: nil) }

  /// The time since the beginning of the stream.
  public var now: Duration {
    if let beginning { return ContinuousClock.now - beginning }
    return state.withLock { $0.passed }
  }

  /// The date by this clock, which the responses of its streams have.
  public var date: Date { start + now / .seconds(1) }

  /// Moves a standing clock forward. Responses that waited for a time up to this one are sent.
  public func advance(to time: Duration) {
    let due = state.withLock { state -> [Waiter] in
      state.passed = max(state.passed, time)
      let passed = state.passed
      defer { state.waiters.removeAll { $0.time <= passed } }
      return state.waiters.filter { $0.time <= passed }
    }
    for waiter in due { waiter.loop.execute(waiter.body) }
  }

  /// Calls `body` on the loop once the clock has reached the time.
  func whenReached(
    _ time: Duration, on loop: any EventLoop, _ body: @Sendable @escaping () -> Void
  ) {
    if beginning != nil {
      let wait = max(time - now, .zero)
      loop.scheduleTask(in: .nanoseconds(wait.nanoseconds), body)
      return
    }
    let isDue = state.withLock { state in
      if state.passed >= time { return true }
      state.waiters.append(Waiter(time: time, loop: loop, body: body))
      return false
    }
    if isDue { loop.execute(body) }
  }
}
