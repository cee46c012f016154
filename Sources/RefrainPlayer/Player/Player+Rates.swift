// SPDX-License-Identifier: MIT

extension Player {
  /// The playback rates that a player supports.
  public nonisolated static let rates = 0.25...4.0
}

extension Double {
  /// Returns the nearest number within a range.
  func limited(to range: ClosedRange<Double>) -> Double {
    min(max(self, range.lowerBound), range.upperBound)
  }
}
