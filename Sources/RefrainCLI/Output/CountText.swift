// SPDX-License-Identifier: MIT

/// Numbers of entries, as people read them.
enum CountText {
  /// `20,000`
  static func number(_ count: Int) -> String {
    let digits = Array(String(count.magnitude))
    var text = count < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index).isMultiple(of: 3) { text += "," }
      text.append(digit)
    }
    return text
  }

  /// `1 entry`, `20,000 entries`
  static func entries(_ count: Int) -> String {
    "\(number(count)) \(count == 1 ? "entry" : "entries")"
  }
}

/// The progress of work on many entries: when a line is due, and its text. A pure value.
struct CountProgress: Sendable {
  /// The verb for the work, in the past tense: `Removed`.
  var verb: String
  /// The time before the first line; shorter work shows none.
  var patience: Duration = .seconds(1)
  private var plain = PlainProgress()
  private var last = 0

  init(verb: String) { self.verb = verb }

  /// Returns `Removed 8,000 of 20,000 entries` if a line is due.
  ///
  /// - Parameter isInteractive: whether the line is redrawn in place; otherwise it is due at every
  ///   further tenth.
  mutating func line(
    done: Int, total: Int, after elapsed: Duration, isInteractive: Bool
  ) -> String? {
    // Reports of several threads may overtake each other.
    guard elapsed >= patience, done > last, done < total else { return nil }
    last = done
    guard isInteractive || plain.isDue(percent: done * 100 / total) else { return nil }
    return "\(verb) \(CountText.number(done)) of \(CountText.entries(total))"
  }
}
