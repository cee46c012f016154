// SPDX-License-Identifier: MIT

extension Duration {
  /// Creates a duration, rounded to the microsecond: 1.1 is read back as 1.1. Nil for numbers that
  /// no media lasts: below zero, from thirty thousand years on, NaN.
  init?(ofMedia seconds: Double) {
    guard seconds >= 0, seconds < 1e12 else { return nil }
    let whole = seconds.rounded(.down)
    let microseconds = ((seconds - whole) * 1e6).rounded()
    self = .seconds(Int64(whole)) + .microseconds(Int64(microseconds))
  }
}
