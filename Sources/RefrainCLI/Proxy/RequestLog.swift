// SPDX-License-Identifier: MIT
import Dispatch
import Foundation
import RefrainProxy
import RefrainLocks

/// Writes a line for each request that the proxy responded to, on its own thread: a stopped
/// terminal or an unread pipe must not block a player.
///
/// Lines are formatted and written in blocks, at most a tenth of a second late: one by one they
/// would cost a busy proxy more than its responses. Requests beyond a bound are dropped, and
/// counted.
final class RequestLog: Sendable {
  private struct State {
    var waiting: [ServedRequest] = []
    var leftOut = 0
    var isScheduled = false
    var isBroken = false
  }

  private static let delay = DispatchTimeInterval.milliseconds(100)

  private let bound: Int
  private let write: @Sendable (_ requests: [ServedRequest], _ leftOut: Int) throws -> Void
  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "refrain.requests")

  /// - Parameters:
  ///   - bound: the number of requests that may wait to be written.
  ///   - write: writes requests, and how many were dropped before them. May block. If it throws,
  ///     there is no reader any more: nothing further is written, and the proxy continues.
  init(
    bound: Int = 10_000,
    write: @escaping @Sendable (_ requests: [ServedRequest], _ leftOut: Int) throws -> Void
  ) {
    self.bound = bound
    self.write = write
  }

  /// Records a request. Returns at once; may be called on any thread.
  func note(_ request: ServedRequest) {
    let isFirst = state.withLock { state in
      guard !state.isBroken else { return false }
      guard state.waiting.count < bound else {
        state.leftOut += 1
        return false
      }
      state.waiting.append(request)
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
    if isFirst { queue.asyncAfter(deadline: .now() + Self.delay) { self.put() } }
  }

  /// Waits until recorded requests are written, for at most `patience` if the reader stalls.
  func end(patience: Duration = .seconds(2)) async {
    await withCheckedContinuation { continuation in
      let once = Once { continuation.resume() }
      queue.async {
        self.put()
        once.run()
      }
      DispatchQueue.global().asyncAfter(deadline: .now() + patience / .seconds(1)) { once.run() }
    }
  }

  private func put() {
    let (requests, leftOut) = state.withLock { state in
      defer { (state.waiting, state.leftOut, state.isScheduled) = ([], 0, false) }
      return state.isBroken ? ([], 0) : (state.waiting, state.leftOut)
    }
    guard !requests.isEmpty || leftOut > 0 else { return }
    do {
      try write(requests, leftOut)
    } catch {
      state.withLock { $0.isBroken = true }
    }
  }
}

/// Runs a closure the first time only.
private final class Once: Sendable {
  private let work: @Sendable () -> Void
  private let isDone = Mutex(false)

  init(_ work: @escaping @Sendable () -> Void) { self.work = work }

  func run() {
    let isFirst = isDone.withLock { isDone in
      defer { isDone = true }
      return !isDone
    }
    if isFirst { work() }
  }
}
