// SPDX-License-Identifier: MIT

/// The stored form of spans: bounds in ascending order, two for each span.
enum SpanList {
  static func encode(_ spans: RangeSet<Int64>) -> [Int64] {
    spans.ranges.flatMap { [$0.lowerBound, $0.upperBound] }
  }

  /// Returns nil if the list is not one that `encode` writes.
  static func decode(_ bounds: [Int64]) -> RangeSet<Int64>? {
    guard bounds.count.isMultiple(of: 2) else { return nil }
    var spans = RangeSet<Int64>()
    var last: Int64 = -1
    for index in stride(from: 0, to: bounds.count, by: 2) {
      let (lower, upper) = (bounds[index], bounds[index + 1])
      guard lower > last, lower < upper else { return nil }
      spans.insert(contentsOf: lower..<upper)
      last = upper
    }
    return spans
  }
}

extension RangeSet<Int64> {
  /// Returns the range of this set that holds `offset`, by binary search.
  func range(containing offset: Int64) -> ByteRange? {
    guard let index = indexOfFirstRange(endingAfter: offset) else { return nil }
    let range = ranges[index]
    return range.lowerBound <= offset ? range : nil
  }

  /// Returns the first offset from `offset` on that is not in the set.
  func end(from offset: Int64) -> Int64 { range(containing: offset)?.upperBound ?? offset }

  /// Returns the first offset at or after `offset` that is in the set; nil if there is none.
  func nextLowerBound(atOrAfter offset: Int64) -> Int64? {
    guard let index = indexOfFirstRange(endingAfter: offset) else { return nil }
    return Swift.max(ranges[index].lowerBound, offset)
  }

  /// The number of offsets in the set.
  var byteCount: Int64 { ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } }

  /// Returns the number of offsets of `range` in the set.
  package func byteCount(in range: ByteRange) -> Int64 {
    guard !range.isEmpty, var index = indexOfFirstRange(endingAfter: range.lowerBound) else {
      return 0
    }
    var count: Int64 = 0
    while index < ranges.endIndex, ranges[index].lowerBound < range.upperBound {
      let part = ranges[index].clamped(to: range)
      count += part.upperBound - part.lowerBound
      index += 1
    }
    return count
  }

  private func indexOfFirstRange(endingAfter offset: Int64) -> Int? {
    var low = ranges.startIndex
    var high = ranges.endIndex
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound <= offset { low = middle + 1 } else { high = middle }
    }
    return low < ranges.endIndex ? low : nil
  }
}
