// SPDX-License-Identifier: MIT

/// How far readers of a resource have lately read in sequence before they jumped or left: whoever
/// comes next is expected to do the same. A pure value.
struct RecentRuns: Sendable, Hashable {
  /// In bytes, the latest last.
  private var lengths: [Int64] = []

  /// Fewer tell nothing: a player looks at the beginning and at the end before it plays.
  private static let least = 4
  private static let most = 8

  mutating func note(_ length: Int64) {
    guard length > 0 else { return }
    if lengths.count == Self.most { lengths.removeFirst() }
    lengths.append(length)
  }

  /// The longest of the latest ones; nil while there are too few.
  var usual: Int64? { lengths.count < Self.least ? nil : lengths.max() }
}
