// SPDX-License-Identifier: MIT

/// What is left out of a list: the first reasons, and the number of the others. A pure value.
struct Omissions: Sendable {
  private(set) var count = 0
  private var reasons: [String] = []

  /// The number of reasons that are kept.
  static let limit = 20

  mutating func add(_ reason: @autoclosure () -> String) {
    count += 1
    if reasons.count < Self.limit { reasons.append(reason()) }
  }

  /// A sentence for each reason, and one for those that are not kept.
  var texts: [String] {
    let others = count - reasons.count
    guard others > 0 else { return reasons }
    return reasons + ["\(others) more \(others == 1 ? "entry does" : "entries do") not play."]
  }
}
