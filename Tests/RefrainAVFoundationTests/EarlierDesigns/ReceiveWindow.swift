// SPDX-License-Identifier: MIT
import RefrainLocks

/// The number of bytes that a sender may have in flight before the receiver takes any, as TCP's
/// window: more than the link holds, so that it does not slow a steady reader. One sender at a
/// time.
final class ReceiveWindow: Sendable {
  private struct State {
    var room = 512 << 10
    var isOpen = false
    var sender: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  /// Waits until there is room.
  func take(_ count: Int) async {
    await withCheckedContinuation { continuation in
      let goesOn = state.withLock { state in
        state.room -= count
        if state.room >= 0 || state.isOpen { return true }
        state.sender = continuation
        return false
      }
      if goesOn { continuation.resume() }
    }
  }

  func give(back count: Int) {
    let sender = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.room += count
      return state.room >= 0 ? state.sender.take() : nil
    }
    sender?.resume()
  }

  /// Opens the window for good: nobody receives any more.
  func open() {
    let sender = state.withLock { state in
      state.isOpen = true
      return state.sender.take()
    }
    sender?.resume()
  }
}
