// SPDX-License-Identifier: MIT
import RefrainLocks

/// Counts the responders under way. A responder may outlive its connection for a moment: the proxy
/// waits for it before it ends, so that its request is logged.
final class RunningResponders: Sendable {
  private struct State {
    var count = 0
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  func begin() { state.withLock { $0.count += 1 } }

  func end() {
    let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      state.count -= 1
      guard state.count == 0 else { return [] }
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Returns once no responder is under way. Cancellation has no effect: responders of closed
  /// connections are cancelled, and end by themselves.
  func waitForAll() async {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if state.count == 0 { return true }
        state.waiters.append(continuation)
        return false
      }
      if isOver { continuation.resume() }
    }
  }
}
