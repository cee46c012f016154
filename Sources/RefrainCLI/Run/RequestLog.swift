// SPDX-License-Identifier: MIT
import Dispatch
import Foundation
import RefrainProxy
import Synchronization

/// Writes a line for each request that the proxy answered, on a thread of its own: a terminal that
/// was stopped, or a pipe that nobody empties, must not hold up a player.
///
/// Lines that pile up beyond a bound are left out, and counted.
final class RequestLog: Sendable {
  private struct State {
    var waiting = 0
    var leftOut = 0
    var isBroken = false
  }

  private let bound: Int
  private let write: @Sendable (ServedRequest) throws -> Void
  private let tellLeftOut: @Sendable (Int) throws -> Void
  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "refrain.requests")

  /// - Parameter write: may block. When it throws, nobody reads any more: nothing further is
  ///   written, and the proxy serves on.
  init(
    bound: Int = 10_000, write: @escaping @Sendable (ServedRequest) throws -> Void,
    tellLeftOut: @escaping @Sendable (Int) throws -> Void
  ) {
    self.bound = bound
    self.write = write
    self.tellLeftOut = tellLeftOut
  }

  /// Returns at once. On any thread.
  func note(_ request: ServedRequest) {
    let isTaken = state.withLock { state in
      guard !state.isBroken else { return false }
      guard state.waiting < bound else {
        state.leftOut += 1
        return false
      }
      state.waiting += 1
      return true
    }
    if isTaken { queue.async { self.put(request) } }
  }

  /// Waits until what was noted is written, but not for a reader that takes nothing.
  func end(patience: Duration = .seconds(2)) async {
    await withCheckedContinuation { continuation in
      let once = Once { continuation.resume() }
      queue.async { once.run() }
      DispatchQueue.global().asyncAfter(deadline: .now() + patience / .seconds(1)) { once.run() }
    }
  }

  private func put(_ request: ServedRequest) {
    let (leftOut, isBroken) = state.withLock { state in
      defer { state.leftOut = 0 }
      state.waiting -= 1
      return (state.leftOut, state.isBroken)
    }
    guard !isBroken else { return }
    do {
      if leftOut > 0 { try tellLeftOut(leftOut) }
      try write(request)
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
