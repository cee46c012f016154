// SPDX-License-Identifier: MIT

/// Limits how fast one request receives its bytes. A pure value.
///
/// AVFoundation requests everything that follows, keeps the bytes in memory, and cancels the
/// request some time after it has enough. From a disk, hundreds of megabytes would arrive by then.
/// Each request therefore receives its first bytes at once, and the rest in steps, far above any
/// bit rate. It never stops entirely: AVFoundation does not report that it waits for more.
struct HandoverPace: Sendable {
  /// The number of bytes handed over at once at the beginning of a request.
  static let head = 16 << 20
  /// The number of bytes handed over at a time after that.
  static let step = 8 << 20
  /// The minimum time between steps: 80 MiB per second.
  static let interval = Duration.milliseconds(100)

  private var left = head
  private var earliest: ContinuousClock.Instant?

  /// Records that `count` bytes were handed over.
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
