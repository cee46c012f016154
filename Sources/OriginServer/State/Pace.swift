// SPDX-License-Identifier: MIT

internal import NIOCore

/// Keeps an average rate: later writes make up for a late one.
struct Pace {
  /// The size of one write: a twentieth of a second's worth.
  let chunk: Int64

  private let bytesPerSecond: Int64
  private let start = NIODeadline.now()
  private var bytes: Int64 = 0

  init(bytesPerSecond: Int) {
    self.bytesPerSecond = Int64(max(1, bytesPerSecond))
    chunk = max(1, self.bytesPerSecond / 20)
  }

  /// Counts sent bytes, and returns the time to wait before the next write.
  mutating func sent(_ count: Int64) -> TimeAmount {
    bytes += count
    let due = start + .nanoseconds(Int64(Double(bytes) / Double(bytesPerSecond) * 1e9))
    return max(.nanoseconds(0), due - NIODeadline.now())
  }
}
