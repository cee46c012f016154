// SPDX-License-Identifier: MIT
import NIOCore

/// Measures how long a connection has been idle. Checked periodically: a timer for each request
/// would cost more than the request.
struct ConnectionClock {
  enum Verdict { case fine, idle, slowHead, slowBody, stuck }

  private let head: TimeAmount
  private let idle: TimeAmount
  private let send: TimeAmount
  private var task: RepeatedTask?

  private var since = NIODeadline.now()
  private var isAtStart = true
  private var isAnswering = false
  private var pendingBytes = 0
  /// The time since which a task waits for more of a request's body.
  private var bodySince: NIODeadline?

  init(_ settings: ConnectionSettings) {
    head = TimeAmount(settings.headTimeout)
    idle = TimeAmount(settings.idleTimeout)
    send = TimeAmount(settings.sendTimeout)
  }

  var isRunning: Bool { task != nil }

  /// The time since the connection was accepted, or since its last request or response.
  var silence: TimeAmount { .now() - since }

  mutating func start(on eventLoop: any EventLoop, tick: @escaping @Sendable () -> Void) {
    since = .now()
    let shortest = min(head.nanoseconds, idle.nanoseconds, send.nanoseconds)
    let step = TimeAmount.nanoseconds(min(max(shortest / 4, 10_000_000), 5_000_000_000))
    task = eventLoop.scheduleRepeatedTask(initialDelay: step, delay: step) { _ in tick() }
  }

  mutating func stop() {
    task?.cancel()
    task = nil
  }

  mutating func noteInput() {
    // The time for a head counts from its first byte on, however slowly the rest arrives.
    if isAtStart { since = .now() }
  }

  mutating func noteAwaitsBody(_ awaits: Bool) {
    bodySince = awaits ? .now() : nil
  }

  mutating func noteRequest() {
    isAnswering = true
    since = .now()
  }

  mutating func noteAnswered() {
    isAnswering = false
    bodySince = nil
    isAtStart = true
    since = .now()
  }

  mutating func note(isAtStart: Bool, isAnswering: Bool) {
    self.isAtStart = isAtStart
    self.isAnswering = isAnswering
  }

  mutating func verdict(pendingBytes: Int) -> Verdict {
    let now = NIODeadline.now()
    if isAnswering {
      if pendingBytes == 0 || pendingBytes != self.pendingBytes { since = now }
      self.pendingBytes = pendingBytes
      if let bodySince, now - bodySince > head { return .slowBody }
      return now - since > send ? .stuck : .fine
    }
    if isAtStart { return now - since > idle ? .idle : .fine }
    return now - since > head ? .slowHead : .fine
  }
}
