// SPDX-License-Identifier: MIT
import Refrain

/// Maps bytes to times, as if every second took the same number of bytes. A pure value.
struct TimeMap {
  var length: Int64?
  var duration: Duration

  func times(of spans: RangeSet<Int64>) -> [Range<Duration>] {
    guard let length, length > 0, duration > .zero else { return [] }
    return spans.ranges.compactMap { span in
      let start = time(span.lowerBound, length)
      let end = time(span.upperBound, length)
      return start < end ? start..<end : nil
    }
  }

  private func time(_ offset: Int64, _ length: Int64) -> Duration {
    guard offset < length else { return duration }
    return .seconds(duration.inSeconds * Double(max(0, offset)) / Double(length))
  }
}

extension [Range<Duration>] {
  /// Returns the time within the ranges that is nearest to `time`; nil if there is none.
  func nearest(to time: Duration) -> Duration? {
    map { Swift.min(Swift.max(time, $0.lowerBound), $0.upperBound) }
      .min { abs(($0 - time).inSeconds) < abs(($1 - time).inSeconds) }
  }
}
