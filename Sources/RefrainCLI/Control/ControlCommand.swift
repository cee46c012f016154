// SPDX-License-Identifier: MIT
import Foundation

/// A client's command. A pure value.
enum ControlCommand: Sendable, Hashable {
  // Questions.
  case get(ControlProperty)
  /// The value as a text.
  case getText(ControlProperty)
  case getPart(ControlPropertyPart)
  case getPartText(ControlPropertyPart)
  /// The changes of a property are sent from now on, by an identifier of the client's choice. An
  /// unknown one never changes.
  case observe(Int64, String)
  /// The same with values as texts.
  case observeText(Int64, String)
  case unobserve(Int64)
  case clientName
  case version

  // Actions.
  case set(ControlProperty, ControlValue)
  case cycle(ControlProperty)
  case add(ControlProperty, Double)
  case multiply(ControlProperty, Double)
  case next(isForced: Bool)
  case previous(isForced: Bool)
  case playIndex(Index)
  case remove(Index)
  case move(Int, to: Int)
  case clear
  /// Plays the items in random order, in another one if they were; their list stays.
  case shuffle
  case unshuffle
  case load(String, LoadPlace)
  case seek(Double, SeekKind)
  case stop(keepsQueue: Bool)
  /// Shows a line on the screen, if there is one.
  case show(String)
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
    get_property, get_property_string, set_property, set_property_string, observe_property, \
    observe_property_string, unobserve_property, set, cycle, add, multiply, seek, loadfile, \
    loadlist, playlist-next, playlist-prev, playlist-play-index, playlist-remove, playlist-move, \
    playlist-clear, playlist-shuffle, playlist-unshuffle, stop, quit, show-text, client_name, \
    get_version
    """

  /// mpv's prefixes of commands, which change nothing here: none of them shows anything by itself,
  /// and no properties are expanded (mpv(1), "Input Command Prefixes").
  private static let prefixes: Set<String> = [
    "osd-auto", "no-osd", "osd-bar", "osd-msg", "osd-msg-bar", "raw", "expand-properties",
    "repeatable", "nonrepeatable", "async", "sync",
  ]

  /// - Parameter words: the name and the arguments; null is one that is left out.
  init(_ words: [ControlValue]) throws(ControlRefusal) {
    let words = words.drop { word in word.text.map { Self.prefixes.contains($0) } ?? false }
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
      if let part = ControlPropertyPart(try arguments.text(0)) { return .getPart(part) }
      return .get(try arguments.property(0))
    case "get_property_string":
      try arguments.check(1...1)
      if let part = ControlPropertyPart(try arguments.text(0)) { return .getPartText(part) }
      return .getText(try arguments.property(0))
    case "observe_property":
      try arguments.check(2...2)
      return .observe(Int64(try arguments.whole(0)), try arguments.text(1))
    case "observe_property_string":
      try arguments.check(2...2)
      return .observeText(Int64(try arguments.whole(0)), try arguments.text(1))
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
    case "set_property", "set_property_string", "set":
      try arguments.check(2...2)
      return .set(try arguments.property(0), try arguments.value(1))
    case "cycle":
      // What is switched has no direction.
      try arguments.check(1...2)
      return .cycle(try arguments.property(0))
    case "add":
      try arguments.check(1...2)
      return .add(try arguments.property(0), try arguments.number(1, or: 1))
    case "multiply":
      try arguments.check(2...2)
      return .multiply(try arguments.property(0), try arguments.number(1))
    case "seek":
      try arguments.check(1...3)
      let kind = try arguments.word(1, or: SeekKind.relative, ignoring: ["exact", "keyframes"])
      return .seek(try arguments.time(0), kind)
    case "stop":
      try arguments.check(0...1)
      return .stop(keepsQueue: try arguments.isFlag("keep-playlist", 0))
    case "quit":
      // A program that ends by itself has its own exit code.
      try arguments.check(0...1)
      return .quit
    case "show-text":
      // How long it is shown is the screen's matter.
      try arguments.check(1...3)
      return .show(try arguments.text(0))
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
    case "playlist-shuffle":
      try arguments.check(0...0)
      return .shuffle
    case "playlist-unshuffle":
      try arguments.check(0...0)
      return .unshuffle
    default:
      throw ControlRefusal(
        .invalidParameter,
        "There is no command '\(arguments.name)'. These exist: \(names).")
    }
  }
}
