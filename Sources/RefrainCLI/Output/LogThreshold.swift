// SPDX-License-Identifier: MIT
import RefrainLocks

/// The level of messages on standard error, which can change while a command runs. May be used from
/// any thread.
final class LogThreshold: Sendable {
  /// A closure stored directly in a lock gains a layer each time it is taken out.
  private struct Follower: Sendable {
    let follow: @Sendable () -> Void
  }

  private struct State: Sendable {
    var level: LogLevel
    var follower: Follower?
  }

  private let state: Mutex<State>

  init(_ level: LogLevel) { state = Mutex(State(level: level)) }

  var level: LogLevel {
    get { state.withLock { $0.level } }
    set {
      let follower = state.withLock { state in
        state.level = newValue
        return state.follower
      }
      follower?.follow()
    }
  }

  /// Whether messages of the level are written.
  func includes(_ level: LogLevel) -> Bool { level <= self.level }

  /// Calls `body` after each change, in place of an earlier one; nil: nothing.
  func onChange(_ body: (@Sendable () -> Void)?) {
    state.withLock { $0.follower = body.map(Follower.init) }
  }
}
