// SPDX-License-Identifier: MIT
import Foundation

/// A client's command. A pure value.
enum ControlCommand: Sendable, Hashable {
  // Questions.
  case get(ControlProperty)
  /// The changes of a property are sent from now on, by an identifier of the client's choice. An
  /// unknown one never changes.
  case observe(Int64, String)
  case unobserve(Int64)
  case clientName
  case version

  // Actions.
  case set(ControlProperty, ControlValue)
  case cycle(ControlProperty)
  case add(ControlProperty, Double)
  case next(isForced: Bool)
  case previous(isForced: Bool)
  case playIndex(Index)
  case remove(Index)
  case move(Int, to: Int)
  case clear
  case load(String, LoadPlace)
  case seek(Double, SeekKind)
  case stop(keepsQueue: Bool)
  case quit

  /// An item of the queue, from 0 in list order.
  enum Index: Sendable, Hashable {
    case at(Int)
    case current
    case none
  }

  enum LoadPlace: String, Sendable, CaseIterable {
    case replace
    case append
    /// Plays it if nothing plays.
    case appendPlay = "append-play"
    case insertNext = "insert-next"
    /// Plays it if nothing plays.
    case insertNextPlay = "insert-next-play"

    var playsIfIdle: Bool { self == .appendPlay || self == .insertNextPlay }
  }

  enum SeekKind: String, Sendable, CaseIterable {
    case relative, absolute
    case absolutePercent = "absolute-percent"
    case relativePercent = "relative-percent"
  }
}

extension ControlCommand {
  /// The names of all commands, for people.
  static let names = """
    get_property, set_property, observe_property, unobserve_property, cycle, add, seek, loadfile, \
    playlist-next, playlist-prev, playlist-play-index, playlist-remove, playlist-move, \
    playlist-clear, stop, quit, client_name, get_version
    """

  /// - Parameter words: the name and the arguments.
  init(_ words: [ControlValue]) throws(ControlRefusal) {
    guard let name = words.first?.text else {
      throw ControlRefusal(.invalidParameter, "'command' begins with the name of a command.")
    }
    let arguments = ControlArguments(name: name, words: words.dropFirst())
    if let question = try Self.question(arguments) {
      self = question
    } else if let command = try Self.playing(arguments) {
      self = command
    } else {
      self = try Self.listing(arguments)
    }
  }

  private static func question(
    _ arguments: ControlArguments
  ) throws(ControlRefusal) -> ControlCommand? {
    switch arguments.name {
    case "get_property":
      try arguments.check(1...1)
      return .get(try arguments.property(0))
    case "observe_property":
      try arguments.check(2...2)
      return .observe(Int64(try arguments.whole(0)), try arguments.text(1))
    case "unobserve_property":
      try arguments.check(1...1)
      return .unobserve(Int64(try arguments.whole(0)))
    case "client_name":
      try arguments.check(0...0)
      return .clientName
    case "get_version":
      try arguments.check(0...0)
      return .version
    default: return nil
    }
  }

  private static func playing(
    _ arguments: ControlArguments
  ) throws(ControlRefusal) -> ControlCommand? {
    switch arguments.name {
    case "set_property", "set":
      try arguments.check(2...2)
      return .set(try arguments.property(0), try arguments.value(1))
    case "cycle":
      // What is switched has no direction.
      try arguments.check(1...2)
      return .cycle(try arguments.property(0))
    case "add":
      try arguments.check(1...2)
      return .add(try arguments.property(0), try arguments.number(1, or: 1))
    case "seek":
      try arguments.check(1...3)
      let kind = try arguments.word(1, or: SeekKind.relative, ignoring: ["exact", "keyframes"])
      return .seek(try arguments.number(0), kind)
    case "stop":
      try arguments.check(0...1)
      return .stop(keepsQueue: try arguments.isFlag("keep-playlist", 0))
    case "quit":
      // A program that ends by itself has its own exit code.
      try arguments.check(0...1)
      return .quit
    default: return nil
    }
  }

  private static func listing(
    _ arguments: ControlArguments
  ) throws(ControlRefusal) -> ControlCommand {
    switch arguments.name {
    case "loadfile", "loadlist":
      try arguments.check(1...2)
      return .load(
        try arguments.text(0), try arguments.word(1, or: LoadPlace.replace, ignoring: []))
    case "playlist-next", "playlist-prev":
      try arguments.check(0...1)
      let isForced = try arguments.isFlag("force", 0, besides: "weak")
      return arguments.name == "playlist-next"
        ? .next(isForced: isForced) : .previous(isForced: isForced)
    case "playlist-play-index":
      try arguments.check(1...1)
      return .playIndex(try arguments.index(0))
    case "playlist-remove":
      try arguments.check(1...1)
      return .remove(try arguments.index(0))
    case "playlist-move":
      try arguments.check(2...2)
      return .move(try arguments.whole(0), to: try arguments.whole(1))
    case "playlist-clear":
      try arguments.check(0...0)
      return .clear
    default:
      throw ControlRefusal(
        .invalidParameter,
        "There is no command '\(arguments.name)'. These exist: \(names).")
    }
  }
}

/// The arguments of a command. A pure value.
private struct ControlArguments {
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
    if let standard, !words.indices.contains(index) { return standard }
    guard let number = try value(index).finite, abs(number) < 1e12 else {
      throw refusal("argument \(index + 1) is a number.")
    }
    return number
  }

  func whole(_ index: Int) throws(ControlRefusal) -> Int {
    guard let number = try value(index).whole else {
      throw refusal("argument \(index + 1) is a whole number.")
    }
    return number
  }

  func property(_ index: Int) throws(ControlRefusal) -> ControlProperty {
    let name = try text(index)
    guard let property = ControlProperty(rawValue: name) else { throw .unknown(property: name) }
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
    guard words.indices.contains(index) else { return false }
    let text = try text(index)
    guard text == flag || text == other else { throw refusal("'\(text)' is not known here.") }
    return text == flag
  }

  /// Returns the one of the words of an argument, `absolute+exact`, that is not to be ignored.
  func word<Word: RawRepresentable & CaseIterable>(
    _ index: Int, or standard: Word, ignoring ignored: Set<String>
  ) throws(ControlRefusal) -> Word where Word.RawValue == String {
    guard words.indices.contains(index) else { return standard }
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
