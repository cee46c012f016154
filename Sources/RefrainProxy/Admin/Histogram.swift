// SPDX-License-Identifier: MIT

/// Counts values in ranges of fixed bounds. A pure value.
struct Histogram: Sendable, Hashable {
  /// The upper bounds of the ranges, included in them, in ascending order. Greater values are
  /// counted in one more range, without a bound.
  let bounds: [Double]
  /// One for each bound, and one for the rest.
  private(set) var counts: [Int64]
  private(set) var sum = 0.0

  init(bounds: [Double]) {
    self.bounds = bounds
    counts = Array(repeating: 0, count: bounds.count + 1)
  }

  /// Negative values and those that are not finite count as zero.
  mutating func note(_ value: Double) {
    let value = value.isFinite ? max(0, value) : 0
    counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += 1
    sum += value
  }

  var count: Int64 { counts.reduce(0, +) }

  /// The counts of all values up to each bound, and then of all.
  var cumulative: [Int64] {
    var total: Int64 = 0
    return counts.map { count in
      total += count
      return total
    }
  }
}
