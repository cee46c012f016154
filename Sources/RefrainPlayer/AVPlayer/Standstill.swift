// SPDX-License-Identifier: MIT

/// Decides what to do with a player that stands still although it should play. A pure value.
///
/// AVPlayer reports a rate of 0, an empty buffer and a stall in no documented order, sometimes only
/// one of them. A rate of 0 by itself is therefore no pause: the player pauses only where a report
/// says who paused it. Otherwise it ran out of bytes, and goes on when it has some.
struct Standstill: Sendable {
  enum Advice: Sendable, Hashable {
    /// Wait until that instant; nil: until something changes.
    case wait(until: ContinuousClock.Instant?)
    /// Set the rate again, and look at that instant whether that helped.
    case goOn(lookingAt: ContinuousClock.Instant)
    /// The system paused the player, and the app looks after that.
    case pause
  }

  /// How long a report of who paused may trail the rate that it explains, or precede it.
  static let trail = Duration.milliseconds(300)
  static let longestDelay = Duration.seconds(4)

  /// Whether the player is known to have run out of bytes.
  private(set) var isStall = false
  private var since: ContinuousClock.Instant?
  private var explained: ContinuousClock.Instant?
  private var tries = 0
  private var nextTry: ContinuousClock.Instant?
  private var triedAt: Duration?

  /// The player said that it stalled, or stands still with an empty buffer.
  mutating func noteStall() { isStall = true }

  /// Something happened that has the system pause players.
  mutating func noteExplanation(at now: ContinuousClock.Instant) { explained = now }

  /// The player plays.
  mutating func notePlaying(at position: Duration) {
    (since, isStall) = (nil, false)
    // Only time that passed shows that it goes on.
    if let triedAt, triedAt != position { (tries, nextTry, self.triedAt) = (0, nil, nil) }
  }

  /// Returns what to do while the rate is 0.
  ///
  /// - Parameter canGoOn: whether the player has bytes enough to play for a while.
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

/// The changes of the rate that the engine made and AVPlayer has not reported yet. A pure value.
///
/// AVPlayer reports every call that changes the rate, without the caller.
struct OwnRateChanges: Sendable {
  /// A report that did not come by then does not come.
  static let longestDelay = Duration.seconds(2)

  private var times: [ContinuousClock.Instant] = []

  mutating func note(at now: ContinuousClock.Instant) { times.append(now) }

  /// Returns whether a change that is reported now is one of the engine's, and strikes it out.
  mutating func take(at now: ContinuousClock.Instant) -> Bool {
    times.removeAll { now - $0 > Self.longestDelay }
    guard !times.isEmpty else { return false }
    times.removeFirst()
    return true
  }
}
