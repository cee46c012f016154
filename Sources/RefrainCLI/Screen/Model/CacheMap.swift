// SPDX-License-Identifier: MIT

/// The states of the current item's parts, each as ranges of 0…1.
struct CacheMap: Sendable, Hashable {
  enum Part: Sendable, Hashable {
    /// Stored: read from disk.
    case cached
    /// Being fetched, or decoded ahead without being stored.
    case coming
    case missing
  }

  var cached: [Range<Double>] = []
  var fetching: [Range<Double>] = []
  var buffered: [Range<Double>] = []

  /// Returns the state of each of `count` cells of a bar. A cell is stored if its middle is.
  func cells(_ count: Int) -> [Part] {
    (0..<max(0, count)).map { index in
      let (start, end) = (Double(index) / Double(count), Double(index + 1) / Double(count))
      let middle = (start + end) / 2
      if cached.contains(where: { $0.contains(middle) }) { return .cached }
      if fetching.contains(where: { $0.lowerBound < end && $0.upperBound > start }) {
        return .coming
      }
      return buffered.contains { $0.contains(middle) } ? .coming : .missing
    }
  }
}
