// SPDX-License-Identifier: MIT

/// The rate at which bytes may be received from all origins together.
struct OriginPace: Sendable {
  /// At least 1; nil: not bounded. A new rate forgets what was owed to the old one.
  var bytesPerSecond: Int64? {
    didSet { if bytesPerSecond != oldValue { bucket = nil } }
  }
  private var bucket: TokenBucket?

  init(bytesPerSecond: Int64?) { self.bytesPerSecond = bytesPerSecond }

  fileprivate static var now: Double { Moment.now.uptime.seconds }

  /// Counts received bytes, and returns the seconds until the rate permits them; 0 if it does.
  mutating func spend(_ count: Int) -> Double {
    guard let bytesPerSecond else { return 0 }
    let (rate, now) = (Double(max(1, bytesPerSecond)), Self.now)
    // After a pause, the bytes of a quarter of a second may be received at once.
    var bucket = bucket ?? TokenBucket(rate: rate, capacity: rate / 4, at: now)
    defer { self.bucket = bucket }
    return bucket.spend(Double(count), at: now)
  }
}

extension Origin {
  /// Counts received bytes, and pauses for as long as the rate requires. Cancellation ends the pause
  /// too: whoever reads on then notices it.
  ///
  /// - Parameter isWanted: called before a pause and during it, which ends if it returns false.
  func keepPace(after count: Int, while isWanted: () -> Bool = { true }) async {
    let own = withMemory { $0.pace.spend(count) }
    guard own > 0 else { return }
    // What others spend meanwhile is theirs to wait for.
    let end = OriginPace.now + own
    while case let debt = min(withMemory { $0.pace.spend(0) }, end - OriginPace.now), debt > 0,
      !Task.isCancelled, isWanted()
    {
      // Another rate is noticed within this time.
      try? await Task.sleep(for: min(.seconds(debt), .milliseconds(250)))
    }
  }
}

/// An allowance that grows evenly with time, up to a bound. Times are seconds of one clock.
package struct TokenBucket: Sendable, Hashable {
  /// The growth per second; above 0.
  private let rate: Double
  private let capacity: Double
  private var level: Double
  private var time: Double

  /// Creates a full bucket.
  package init(rate: Double, capacity: Double, at now: Double) {
    (self.rate, self.capacity) = (rate, capacity)
    (level, time) = (capacity, now)
  }

  /// Takes `count`, and returns nil; or nothing, and returns the seconds until it can be taken.
  package mutating func take(_ count: Double, at now: Double) -> Double? {
    grow(to: now)
    if level < count { return (min(count, capacity) - level) / rate }
    level -= count
    return nil
  }

  /// Takes `count`, even if there is less; returns the seconds until the debt is repaid, or 0.
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
