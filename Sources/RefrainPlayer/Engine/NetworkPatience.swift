// SPDX-License-Identifier: MIT
import Refrain

/// How a network that is gone is waited for, once something has been heard: with growing pauses, for
/// as long as it takes. A pure value.
struct NetworkPatience: Sendable, Hashable {
  private var tries = 0

  /// Whether what failed may well pass by itself.
  func bears(_ error: MediaCacheError) -> Bool {
    switch error.code {
    case .unreachable, .networkNotAllowed: true
    case .status: error.status.map(RetryPolicy.isTransient) ?? false
    default: false
    }
  }

  /// 0.5 s, doubling to 8 s. Each try of the cache's own takes some seconds besides.
  mutating func nextDelay() -> Duration {
    defer { tries += 1 }
    return .milliseconds(500) * (1 << min(tries, 4))
  }
}
