// SPDX-License-Identifier: MIT

/// What the scan of a media may cost. In bytes.
struct ScanLimits: Sendable, Hashable {
  /// The first bytes that are read.
  var firstStep: Int64 = 16 << 10
  /// The fewest bytes that are read at once after that.
  var step: Int64 = 4 << 10
  /// The fewest bytes that are read at once in the end, if a parser asks for one part behind the
  /// other: each time for twice as many.
  var longestStep: Int64 = 4 << 10
  /// The most bytes that are requested from the origin.
  var mostBytes: Int64
  /// The most times that bytes are read.
  var mostSteps: Int
  /// The most bytes that the parser may ask for at once.
  var mostAtOnce = TagBytes.usualMostAtOnce
}

/// Selects the bytes of a media that a scan reads next. A pure value.
struct ScanSteps: Sendable {
  let limits: ScanLimits
  /// The bytes that may still be requested.
  private var budget: Int64
  /// Where the last read ended.
  private var end: Int64 = 0
  private var step: Int64 = 0

  init(_ limits: ScanLimits) {
    self.limits = limits
    (budget, step) = (limits.mostBytes, limits.step)
  }

  /// Returns the first bytes.
  ///
  /// - Parameter isStored: whether reading them costs no request.
  mutating func first(isStored: Bool) -> Range<Int64> {
    end = limits.firstStep
    if !isStored { budget -= min(budget, end) }
    return 0..<end
  }

  /// Returns what to read for a parser that needs more; nil if it goes without.
  ///
  /// - Parameters:
  ///   - missing: what it needs.
  ///   - bytes: those that were read so far.
  ///   - stored: those that cost no request.
  ///   - mayRequest: whether others may be requested.
  mutating func next(
    for missing: TagBytes.Missing, in bytes: TagBytes, stored: RangeSet<Int64>, mayRequest: Bool
  ) -> Range<Int64>? {
    guard let start = bytes.unread(of: missing.range)?.lowerBound else { return nil }
    let least = start == end ? min(step * 2, max(limits.longestStep, limits.step)) : limits.step
    let isStored = RangeSet(missing.range).isSubset(of: stored)
    let limit =
      isStored
      ? stored.ranges.first { $0.contains(start) }?.upperBound ?? start
      : bytes.length ?? .max
    let wanted = start..<max(missing.range.upperBound, min(start.plus(least) ?? .max, limit))
    guard let next = bytes.unread(of: wanted) else { return nil }
    let count = next.upperBound - next.lowerBound
    if !isStored {
      guard mayRequest, !missing.isOptional, count <= budget else { return nil }
      budget -= count
    }
    (end, step) = (next.upperBound, least)
    return next
  }
}
