// SPDX-License-Identifier: MIT
package import Refrain

/// The retry schedule for a lost network: growing delays, without a limit on their number once the
/// item was heard. A pure value.
package struct NetworkPatience: Sendable, Hashable {
  /// The tries for an item that has begun to arrive but was not heard yet. They are worth the wait:
  /// a demuxer that reads ahead leaves out the bytes of a failed read, and plays on after them.
  private static let triesBeforeSound = 3

  private var tries = 0

  package init() {}

  /// Whether an item that was not heard yet may be tried again.
  var lastsBeforeSound: Bool { tries < Self.triesBeforeSound }

  /// Returns whether the failure may well pass by itself.
  package func bears(_ error: MediaCacheError) -> Bool {
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
