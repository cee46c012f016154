// SPDX-License-Identifier: MIT

/// An allowance that grows evenly with time, up to a bound. Times are seconds of one clock. If it goes
/// back, nothing is taken away.
struct TokenBucket: Sendable {
  /// The growth per second; above 0.
  private let rate: Double
  private let capacity: Double
  private var level: Double
  private var time: Double

  /// Creates a full bucket.
  init(rate: Double, capacity: Double, at now: Double) {
    (self.rate, self.capacity) = (rate, capacity)
    (level, time) = (capacity, now)
  }

  /// Takes `count`, and returns nil; or nothing, and returns the seconds until it can be taken.
  mutating func take(_ count: Double, at now: Double) -> Double? {
    grow(to: now)
    if level < count { return (min(count, capacity) - level) / rate }
    level -= count
    return nil
  }

  /// Takes `count`, even if there is less; returns the seconds until the debt is repaid, or 0.
  mutating func spend(_ count: Double, at now: Double) -> Double {
    grow(to: now)
    level -= count
    return max(0, -level / rate)
  }

  /// Whether it has grown to its bound: a new one would be equal.
  func isFull(at now: Double) -> Bool { level + max(0, now - time) * rate >= capacity }

  private mutating func grow(to now: Double) {
    level = min(capacity, level + max(0, now - time) * rate)
    time = max(time, now)
  }
}
