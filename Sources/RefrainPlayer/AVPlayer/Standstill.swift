// SPDX-License-Identifier: MIT

/// Decides what to do with a player that stands still although it should play. A pure value.
///
/// AVPlayer reports a rate of 0, an empty buffer and a stall in no documented order, sometimes only
/// one of them. A rate of 0 alone is therefore no pause: the engine pauses only if a report says
/// who paused the player. Otherwise the player ran out of bytes, and resumes when it has some.
struct Standstill: Sendable {
  enum Advice: Sendable, Hashable {
    /// Wait until that instant; nil: until something changes.
    case wait(until: ContinuousClock.Instant?)
    /// Set the rate again, and check at that instant whether that helped.
    case goOn(lookingAt: ContinuousClock.Instant)
    /// The system paused the player, and the app handles that.
    case pause
  }

  /// The longest time by which the report of who paused may follow or precede the rate change.
  static let trail = Duration.milliseconds(300)
  static let longestDelay = Duration.seconds(4)
  /// The loaded time after which a stall ends, even if AVPlayer predicts another one.
  static let enough = Duration.seconds(10)
  /// The difference between a position, a loaded range and a duration that counts as none.
  private static let tolerance = Duration.milliseconds(100)

  /// Whether the player is known to have run out of bytes.
  private(set) var isStall = false
  private var since: ContinuousClock.Instant?
  private var explained: ContinuousClock.Instant?
  private var tries = 0
  private var nextTry: ContinuousClock.Instant?
  private var triedAt: Duration?

  /// Whether `enough` is loaded ahead of `position`, or everything up to the end.
  static func isEnough(
    _ loaded: [Range<Duration>], at position: Duration, of duration: Duration?
  ) -> Bool {
    let end = min(position + enough, duration.map { $0 - tolerance } ?? position + enough)
    return loaded.contains { range in
      range.lowerBound <= position + tolerance && position < range.upperBound
        && range.upperBound >= end
    }
  }

  /// Records that the player reported a stall, or stands still with an empty buffer.
  mutating func noteStall() { isStall = true }

  /// Records an event that makes the system pause players.
  mutating func noteExplanation(at now: ContinuousClock.Instant) { explained = now }

  /// Records that the player plays.
  mutating func notePlaying(at position: Duration) {
    (since, isStall) = (nil, false)
    // Only a changed position shows that playback continues.
    if let triedAt, triedAt != position { (tries, nextTry, self.triedAt) = (0, nil, nil) }
  }

  /// Returns what to do while the rate is 0.
  ///
  /// - Parameter canGoOn: whether the player has enough bytes to play for a while.
  mutating func advice(
    canGoOn: Bool, position: Duration, now: ContinuousClock.Instant
  ) -> Advice {
    let since = self.since ?? now
    self.since = since
    if !isStall {
      if let explained, since - explained < Self.trail { return .pause }
      let end = since + Self.trail
      guard now >= end else { return .wait(until: end) }
      isStall = true
    }
    guard canGoOn else { return .wait(until: nil) }
    if let nextTry, now < nextTry { return .wait(until: nextTry) }
    let delay = min(.milliseconds(250) * (1 << min(tries, 4)), Self.longestDelay)
    tries += 1
    (nextTry, triedAt) = (now + delay, position)
    (self.since, isStall) = (nil, false)
    return .goOn(lookingAt: now + delay)
  }
}

/// The rate changes made by the engine that AVPlayer has not reported yet. A pure value.
///
/// AVPlayer reports every call that changes the rate, but not its caller.
struct OwnRateChanges: Sendable {
  /// The time after which a report that has not arrived is no longer expected.
  static let longestDelay = Duration.seconds(2)

  private var times: [ContinuousClock.Instant] = []

  mutating func note(at now: ContinuousClock.Instant) { times.append(now) }

  /// Returns whether a change reported now is one of the engine's, and removes that one.
  mutating func take(at now: ContinuousClock.Instant) -> Bool {
    times.removeAll { now - $0 > Self.longestDelay }
    guard !times.isEmpty else { return false }
    times.removeFirst()
    return true
  }
}
