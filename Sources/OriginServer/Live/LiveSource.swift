// SPDX-License-Identifier: MIT
public import Foundation
internal import NIOCore
internal import RefrainLocks

/// A live stream where a server serves it.
struct LiveSource: Sendable {
  /// With a slash at its end.
  let directory: String
  let stream: LiveStream
  let clock: LiveClock

  /// Returns the directory of a path, with a slash at its end.
  static func directory(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
  }

  /// Returns the response at this moment, with a Date by the stream's clock.
  func response(to request: ReceivedRequest) -> LiveStream.Response {
    let response = stream.response(
      to: request.target.dropFirst(directory.count), rangeStart: Self.start(of: request.range),
      at: clock.now)
    guard case .resource(var resource) = response else { return response }
    resource.headers.append(Field("Date", HTTPDate.format(clock.date)))
    return .resource(resource)
  }

  /// Returns the first byte of a Range, unless it counts from the end.
  private static func start(of range: String?) -> Int64? {
    guard let range, range.hasPrefix("bytes=") else { return nil }
    return Int64(range.dropFirst("bytes=".count).prefix { $0.isNumber })
  }
}

extension Fault {
  /// Whether the response is decided without looking for the resource.
  var replacesAnswer: Bool {
    switch self {
    case .closeWithoutAnswer, .garbage, .status, .redirect: true
    default: false
    }
  }
}

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
