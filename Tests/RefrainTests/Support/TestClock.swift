// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

@testable import Refrain

/// A clock that stands still until a test moves it.
final class TestClock: Sendable {
  private let start = Moment.now
  private let state = Mutex((passed: 0.0, jumped: 0.0))

  /// The clock for `MediaCache.Configuration.clock`.
  var now: @Sendable () -> Moment {
    { [self] in
      let (passed, jumped) = state.withLock { $0 }
      return Moment(wall: start.wall + passed + jumped, uptime: start.uptime + passed)
    }
  }

  /// The seconds that have passed.
  var passed: Double { state.withLock { $0.passed } }

  func pass(_ seconds: Double) { state.withLock { $0.passed += seconds } }

  /// Sets the wall clock; no time passes.
  func set(forwardBy seconds: Double) { state.withLock { $0.jumped += seconds } }
}
