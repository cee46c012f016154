// SPDX-License-Identifier: MIT

extension Duration {
  /// So many seconds, to the microsecond: what is written as 1.1 is read as 1.1. Nil where nothing
  /// lasts so long: below zero, from thirty thousand years on, not a number.
  init?(ofMedia seconds: Double) {
    guard seconds >= 0, seconds < 1e12 else { return nil }
    let whole = seconds.rounded(.down)
    let microseconds = ((seconds - whole) * 1e6).rounded()
    self = .seconds(Int64(whole)) + .microseconds(Int64(microseconds))
  }
}
