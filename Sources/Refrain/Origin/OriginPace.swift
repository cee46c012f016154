// SPDX-License-Identifier: MIT
import RefrainLocks

/// Bounds the rate at which bytes are received from all origins together. The rate can change at
/// any time. May be used from any thread.
final class OriginPace: Sendable {
  private struct State: Sendable {
    var bytesPerSecond: Int64?
    /// Nil if the rate is not bounded.
    var bucket: TokenBucket?
  }

  private let state: Mutex<State>

  /// What may be received at once after a pause, in seconds of the rate.
  private static let burst = 0.25
  /// How long a pause lasts at most before it notices another rate.
  private static let patience = Duration.milliseconds(250)

  /// - Parameter bytesPerSecond: at least 1; nil: not bounded.
  init(bytesPerSecond: Int64?) {
    state = Mutex(Self.state(bytesPerSecond))
  }

  private static func state(_ bytesPerSecond: Int64?) -> State {
    let bucket = bytesPerSecond.map { bytes in
      let rate = Double(max(1, bytes))
      return TokenBucket(rate: rate, capacity: rate * burst, at: now)
    }
    return State(bytesPerSecond: bytesPerSecond, bucket: bucket)
  }

  private static var now: Double { Moment.now.uptime.seconds }

  /// The rate. A new one counts from the next received bytes on; what was owed to the old one is
  /// forgotten.
  var bytesPerSecond: Int64? {
    get { state.withLock { $0.bytesPerSecond } }
    set {
      state.withLock { state in
        if state.bytesPerSecond != newValue { state = Self.state(newValue) }
      }
    }
  }

  /// Counts received bytes, and pauses for as long as the rate requires.
  ///
  /// Cancellation ends the pause too: whoever reads on then notices it.
  ///
  /// - Parameters:
  ///   - beginning: called before a pause.
  ///   - isOver: asked several times a second; true ends the pause.
  func received(
    _ count: Int, beginning: () -> Void = {}, unless isOver: () -> Bool = { false }
  ) async {
    let own = spend(count)
    guard own > 0 else { return }
    beginning()
    // What others spend meanwhile is theirs to wait for.
    let end = Self.now + own
    while case let debt = min(spend(0), end - Self.now), debt > 0, !Task.isCancelled {
      try? await Task.sleep(for: min(.seconds(debt), Self.patience))
      if isOver() { return }
    }
  }

  /// Counts received bytes.
  ///
  /// - Returns: the seconds until the rate permits them; 0 if it does.
  func spend(_ count: Int) -> Double {
    state.withLock { $0.bucket?.spend(Double(count), at: Self.now) ?? 0 }
  }
}

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
