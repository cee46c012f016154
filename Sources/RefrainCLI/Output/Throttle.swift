// SPDX-License-Identifier: MIT
import RefrainLocks

/// Permits an action at most ten times a second.
final class Throttle: Sendable {
  private let last = Mutex<ContinuousClock.Instant?>(nil)

  func isDue(at now: ContinuousClock.Instant = .now) -> Bool {
    last.withLock { last in
      if let last, now - last < .milliseconds(100) { return false }
      last = now
      return true
    }
  }
}
