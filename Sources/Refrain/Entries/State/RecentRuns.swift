// SPDX-License-Identifier: MIT

/// How far recent readers of a resource read in sequence before a seek or their end: the next
/// reader is expected to do the same. A pure value.
struct RecentRuns: Sendable, Hashable {
  /// In bytes, the latest last.
  private var lengths: [Int64] = []

  /// Fewer say nothing: a player looks at the beginning and at the end before it plays.
  private static let least = 4
  private static let most = 8

  mutating func note(_ length: Int64) {
    guard length > 0 else { return }
    if lengths.count == Self.most { lengths.removeFirst() }
    lengths.append(length)
  }

  /// The longest recent run; nil while there are too few.
  var usual: Int64? { lengths.count < Self.least ? nil : lengths.max() }
}
