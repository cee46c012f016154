// SPDX-License-Identifier: MIT
import RefrainPlayer

/// The rates that the keys select.
enum RateSteps {
  private static let rates = [0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4]

  static func above(_ rate: Double) -> Double { rates.first { $0 > rate + 0.001 } ?? 4 }
  static func below(_ rate: Double) -> Double { rates.last { $0 < rate - 0.001 } ?? 0.25 }
}

/// The steps of the sleep timer's key: 15, 30 and 60 minutes, the end of the item, off.
struct SleepSteps: Sendable {
  private static let minutes = [15, 30, 60]
  private var step = 0

  /// - Parameter isSet: whether a timer runs. After one has run out, the steps start over.
  mutating func next(
    isSet: Bool, now: ContinuousClock.Instant = .now
  ) -> SleepTimer? {
    if !isSet { step = 0 }
    defer { step += 1 }
    if step < Self.minutes.count { return .at(now + .seconds(60 * Self.minutes[step])) }
    return step == Self.minutes.count ? .endOfItem : nil
  }
}
