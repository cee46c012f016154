// SPDX-License-Identifier: MIT

/// An allowance that grows evenly with time, up to a bound. A pure value; times are seconds of one
/// clock.
package struct TokenBucket: Sendable, Hashable {
  private let rate: Double
  private let capacity: Double
  private var level: Double
  private var time: Double

  /// Creates a full bucket.
  ///
  /// - Parameters:
  ///   - rate: the growth per second; above 0.
  ///   - capacity: the bound: what may be taken at once after a pause.
  ///   - now: the time.
  package init(rate: Double, capacity: Double, at now: Double) {
    self.rate = rate
    self.capacity = capacity
    level = capacity
    time = now
  }

  /// Takes `count`, or nothing if there is not as much.
  ///
  /// - Returns: nil if it was taken; else the seconds until it can be.
  package mutating func take(_ count: Double, at now: Double) -> Double? {
    grow(to: now)
    guard level < count else {
      level -= count
      return nil
    }
    return (min(count, capacity) - level) / rate
  }

  /// Takes `count`, even if there is not as much: the debt is repaid by the growth.
  ///
  /// - Returns: the seconds until the debt is repaid; 0 if there is none.
  package mutating func spend(_ count: Double, at now: Double) -> Double {
    grow(to: now)
    level -= count
    return max(0, -level / rate)
  }

  /// Whether it has grown to its bound: a new one would be equal.
  package func isFull(at now: Double) -> Bool {
    var later = self
    later.grow(to: now)
    return later.level >= capacity
  }

  private mutating func grow(to now: Double) {
    // A clock that goes back does not take anything away.
    level = min(capacity, level + max(0, now - time) * rate)
    time = max(time, now)
  }
}
