// SPDX-License-Identifier: MIT
import Refrain

/// The retry schedule for a lost network after an item was heard: growing delays, without a limit
/// on their number. A pure value.
struct NetworkPatience: Sendable, Hashable {
  private var tries = 0

  /// Returns whether the failure may well pass by itself.
  func bears(_ error: MediaCacheError) -> Bool {
    switch error.code {
    case .unreachable, .networkNotAllowed: true
    case .status: error.status.map(RetryPolicy.isTransient) ?? false
    default: false
    }
  }

  /// Returns the next delay: 0.5 s, doubling to 8 s. The cache's own retries take some seconds on
  /// top.
  mutating func nextDelay() -> Duration {
    defer { tries += 1 }
    return .milliseconds(500) * (1 << min(tries, 4))
  }
}
