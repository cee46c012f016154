// SPDX-License-Identifier: MIT

/// The arguments of a command. A pure value.
struct ControlArguments {
  let name: String
  let words: [ControlValue]

  init(name: String, words: ArraySlice<ControlValue>) {
    (self.name, self.words) = (name, Array(words))
  }

  private func refusal(_ text: String) -> ControlRefusal {
    ControlRefusal(.invalidParameter, "\(name): \(text)")
  }

  func check(_ counts: ClosedRange<Int>) throws(ControlRefusal) {
    guard !counts.contains(words.count) else { return }
    let counts =
      counts.count == 1
      ? "\(counts.lowerBound)" : "\(counts.lowerBound) to \(counts.upperBound)"
    throw refusal("it has \(words.count) arguments, not \(counts).")
  }

  private func isGiven(_ index: Int) -> Bool {
    words.indices.contains(index) && words[index] != .null
  }

  func value(_ index: Int) throws(ControlRefusal) -> ControlValue {
    guard words.indices.contains(index) else {
      throw refusal("argument \(index + 1) is missing.")
    }
    return words[index]
  }

  func text(_ index: Int) throws(ControlRefusal) -> String {
    guard let text = try value(index).text else {
      throw refusal("argument \(index + 1) is a text.")
    }
    return text
  }

  func number(_ index: Int, or standard: Double? = nil) throws(ControlRefusal) -> Double {
    if let standard, !isGiven(index) { return standard }
    guard let number = try value(index).finite, abs(number) < 1e12 else {
      throw refusal("argument \(index + 1) is a number.")
    }
    return number
  }

  /// Seconds: a number, or a text such as `1:30` and `-0:10`.
  func time(_ index: Int) throws(ControlRefusal) -> Double {
    guard let text = try value(index).text, text.contains(":") else { return try number(index) }
    let isNegative = text.hasPrefix("-")
    // The error of the parser names other texts.
    guard let time = try? TimeText.parse(isNegative ? String(text.dropFirst()) : text) else {
      throw refusal("argument \(index + 1) is a time, as in 90 or 1:30.")
    }
    return (isNegative ? -1 : 1) * (time / .seconds(1))
  }

  func whole(_ index: Int) throws(ControlRefusal) -> Int {
    guard let number = try value(index).whole else {
      throw refusal("argument \(index + 1) is a whole number.")
    }
    return number
  }

  func property(_ index: Int) throws(ControlRefusal) -> ControlProperty {
    let name = try text(index)
    guard let property = ControlProperty(name) else { throw .unknown(property: name) }
    return property
  }

  func index(_ index: Int) throws(ControlRefusal) -> ControlCommand.Index {
    switch try value(index) {
    case .string("current"): return .current
    case .string("none"): return .none
    default: return .at(try whole(index))
    }
  }

  /// Returns whether the only flag that a command has is given.
  func isFlag(_ flag: String, _ index: Int, besides other: String = "") throws(ControlRefusal)
    -> Bool
  {
    guard isGiven(index) else { return false }
    let text = try text(index)
    guard text == flag || text == other else { throw refusal("'\(text)' is not known here.") }
    return text == flag
  }

  /// Returns the one of the words of an argument, `absolute+exact`, that is not to be ignored.
  func word<Word: RawRepresentable & CaseIterable>(
    _ index: Int, or standard: Word, ignoring ignored: Set<String>
  ) throws(ControlRefusal) -> Word where Word.RawValue == String {
    guard isGiven(index) else { return standard }
    var found: Word?
    for part in try text(index).split(separator: "+", omittingEmptySubsequences: false) {
      let part = String(part)
      if ignored.contains(part) { continue }
      guard found == nil, let word = Word(rawValue: part) else {
        let known = Word.allCases.map(\.rawValue).joined(separator: ", ")
        throw refusal("'\(part)' is not one of \(known).")
      }
      found = word
    }
    return found ?? standard
  }
}
