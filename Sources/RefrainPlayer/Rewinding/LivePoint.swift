// SPDX-License-Identifier: MIT

/// A place in the bytes of a live stream at which a decoder can start.
struct LivePoint: Sendable, Hashable {
  /// The byte at which a frame or page begins.
  var offset: Int64
  /// The duration of the sound before it, since the first byte.
  var time: Duration
  /// The bytes that a decoder needs before those of the point, by their number
  /// (`LiveFraming.header(_:)`).
  var header = 0
}

/// The points of the recorded part of a stream, at most four per second. A pure value.
struct LiveIndex: Sendable {
  static let interval = Duration.milliseconds(250)

  /// Ascending by offset and time.
  private(set) var points: [LivePoint] = []

  /// Adds a point that lies behind all others. If it is too near to the last one, it is left out,
  /// or replaces that if it has another header.
  mutating func add(_ point: LivePoint) {
    if let last = points.last, point.time - last.time < Self.interval {
      guard point.header != last.header else { return }
      points.removeLast()
    }
    points.append(point)
  }

  /// Removes the points before a byte.
  mutating func removePoints(before offset: Int64) {
    let count = points.firstPlace { $0.offset >= offset }
    // In steps: every removal moves the rest.
    if count >= 64 || count == points.count { points.removeFirst(count) }
  }

  /// Returns the last point at or before `time` among those from `offset` on; the first of them if
  /// all are later; nil: there is none.
  func point(at time: Duration, from offset: Int64) -> LivePoint? {
    let first = points.firstPlace { $0.offset >= offset }
    let after = points.firstPlace { $0.time > time }
    let index = max(first, after - 1)
    return points.indices.contains(index) ? points[index] : nil
  }

  /// Returns the first point at or after `time` among those from `offset` on.
  func firstPoint(notBefore time: Duration, from offset: Int64) -> LivePoint? {
    let index = max(
      points.firstPlace { $0.offset >= offset }, points.firstPlace { $0.time >= time })
    return points.indices.contains(index) ? points[index] : nil
  }
}

extension Array {
  /// Returns the first index whose element and all later ones fulfil a condition (a binary search).
  fileprivate func firstPlace(_ fulfils: (Element) -> Bool) -> Int {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = (low + high) / 2
      if fulfils(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
