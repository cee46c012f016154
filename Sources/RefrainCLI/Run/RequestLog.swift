// SPDX-License-Identifier: MIT
import Dispatch
import Foundation
import RefrainProxy
import Synchronization

/// Writes a line for each request that the proxy answered, on a thread of its own: a terminal that
/// was stopped, or a pipe that nobody empties, must not hold up a player.
///
/// Lines are made and written in blocks, a tenth of a second late at most: one by one they would cost
/// a busy proxy more than its answers do. Those that pile up beyond a bound are left out, and counted.
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
  ///   - bound: how many requests may wait to be written.
  ///   - write: writes some, after so many that were left out. May block. When it throws, nobody reads
  ///     any more: nothing further is written, and the proxy serves on.
  init(
    bound: Int = 10_000,
    write: @escaping @Sendable (_ requests: [ServedRequest], _ leftOut: Int) throws -> Void
  ) {
    self.bound = bound
    self.write = write
  }

  /// Returns at once. On any thread.
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

  /// Waits until what was noted is written, but not for a reader that takes nothing.
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

/// Does something the first time it is asked to.
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
