// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// The text of a configuration file: an option a line, as on the command line without the dashes.
/// A pure value. What the names and values mean is the command's business.
struct ConfigurationFile: Sendable, Hashable {
  struct Line: Sendable, Hashable {
    /// From 1 on.
    var number: Int
    var name: String
    /// Nil for a flag.
    var value: String?

    /// The line as one argument of a command line. The value is never taken for another option.
    var argument: String { value.map { "--\(name)=\($0)" } ?? "--\(name)" }
  }

  var lines: [Line] = []

  var arguments: [String] { lines.map(\.argument) }

  /// Reads the text of a file. Blank lines, and those that begin with `#`, have no meaning; a `#`
  /// further on belongs to the value, as it may to a URL.
  ///
  /// - Parameter path: for errors.
  init(parsing text: String, path: String) throws(ConfigurationError) {
    // A byte order mark is no part of the first name.
    let text = text.hasPrefix("\u{FEFF}") ? text.dropFirst() : text[...]
    // Swift treats CR LF as one character.
    let parts = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
    for (index, part) in parts.enumerated() {
      let content = Self.trimmed(part)
      if content.isEmpty || content.hasPrefix("#") { continue }
      let name = content.prefix { !Self.isBlank($0) }
      if let (reason, remedy) = Self.problem(of: name) {
        throw ConfigurationError("\(path), line \(index + 1)", reason, remedy: remedy)
      }
      let value = Self.trimmed(content.dropFirst(name.count))
      lines.append(
        Line(number: index + 1, name: String(name), value: value.isEmpty ? nil : String(value)))
    }
  }

  /// Options that print something in place of running, and the file's own.
  private static let elsewhere: Set<String> = [
    "config", "help", "help-hidden", "version", "generate-completion-script",
    "experimental-dump-help",
  ]

  private static func problem(of name: Substring) -> (reason: String, remedy: String)? {
    let plain = name.drop { $0 == "-" }
    if plain.count < name.count {
      return ("Options are written without dashes here.", "Write '\(plain)'.")
    }
    if let equal = name.firstIndex(of: "=") {
      return (
        "A space separates an option from its value.",
        "Write '\(name[..<equal]) \(name[name.index(after: equal)...])'."
      )
    }
    let isName = name.utf8.allSatisfy { (97...122).contains($0) || $0.isDigit || $0 == 45 }
    guard isName else {
      return ("'\(name)' is not an option.", "'refrain help serve' lists the options.")
    }
    guard !elsewhere.contains(String(name)) else {
      return ("'\(name)' belongs to the command line.", "Remove the line.")
    }
    return nil
  }

  private static func isBlank(_ character: Character) -> Bool {
    character == " " || character == "\t"
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text.drop(while: isBlank)
    while let last = text.last, isBlank(last) { text.removeLast() }
    return text
  }

  // MARK: Comparing

  /// Returns the names of options that one of the files has and the other one has not, or has with
  /// other values; sorted.
  func changes(to other: ConfigurationFile) -> [String] {
    let (mine, others) = (values, other.values)
    return Set(mine.keys).union(others.keys).filter { mine[$0] != others[$0] }.sorted()
  }

  private var values: [String: [String?]] {
    Dictionary(grouping: lines, by: \.name).mapValues { $0.map(\.value) }
  }
}

/// Why the options of a configuration file cannot be used.
struct ConfigurationError: Error, Hashable, CustomStringConvertible {
  /// The file, and the line if the reason is in one.
  var place: String
  /// The failure and its cause, in one sentence.
  var reason: String
  /// What to do, in one sentence.
  var remedy: String

  init(_ place: String, _ reason: String, remedy: String) {
    self.place = place
    self.reason = reason
    self.remedy = remedy
  }

  var description: String { "\(place): \(reason) \(remedy)" }
}
