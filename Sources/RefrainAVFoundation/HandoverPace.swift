// SPDX-License-Identifier: MIT

/// Limits how fast one request is handed its bytes. A pure value.
///
/// AVFoundation asks for all that follows, keeps what it is given in memory, and cancels the request
/// some time after it has enough. From a disk, hundreds of megabytes would arrive by then. Each request
/// therefore gets its first bytes at once, and the rest in steps, far above any bit rate. It is never
/// stopped for good: nothing reports that AVFoundation waits for more.
struct HandoverPace: Sendable {
  /// Handed over at once, from where a request begins.
  static let head = 16 << 20
  /// Handed over at a time, beyond that.
  static let step = 8 << 20
  /// The least time from step to step: 80 MiB in a second.
  static let interval = Duration.milliseconds(100)

  private var left = head
  private var earliest: ContinuousClock.Instant?

  /// Records that so many bytes were handed over.
  ///
  /// - Returns: when the next bytes may follow; nil: at once.
  mutating func resumption(
    after count: Int, now: ContinuousClock.Instant
  ) -> ContinuousClock.Instant? {
    left -= count
    guard left <= 0 else { return nil }
    left = Self.step
    let next = max(earliest ?? now + Self.interval, now)
    earliest = next + Self.interval
    return next > now ? next : nil
  }
}
