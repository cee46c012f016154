// SPDX-License-Identifier: MIT

/// The value of an `#if` condition for one of Apple's platforms: `!`, `&&`, `||`, parentheses, and
/// the conditions that these sources use. Any other condition is false.
struct PlatformCondition {
  private var tokens: ArraySlice<String>
  private let platform: String

  static func holds(_ text: some StringProtocol, on platform: String) -> Bool {
    var condition = PlatformCondition(tokens: tokens(of: text)[...], platform: platform)
    return condition.either()
  }

  private static func tokens(of text: some StringProtocol) -> [String] {
    var tokens: [String] = []
    var word = ""
    for character in text {
      if character.isLetter || character.isNumber || character == "_" {
        word.append(character)
        continue
      }
      if !word.isEmpty { tokens.append(word) }
      word = ""
      if "!()|&".contains(character) { tokens.append(String(character)) }
    }
    return word.isEmpty ? tokens : tokens + [word]
  }

  private mutating func take(_ token: String) -> Bool {
    guard tokens.first == token else { return false }
    tokens.removeFirst()
    return true
  }

  private mutating func either() -> Bool {
    var value = both()
    while take("|") {
      _ = take("|")
      let other = both()
      value = value || other
    }
    return value
  }

  private mutating func both() -> Bool {
    var value = one()
    while take("&") {
      _ = take("&")
      let other = one()
      value = value && other
    }
    return value
  }

  private mutating func one() -> Bool {
    if take("!") { return !one() }
    if take("(") {
      defer { _ = take(")") }
      return either()
    }
    guard let name = tokens.popFirst() else { return false }
    guard take("(") else { return false }
    let argument = tokens.popFirst() ?? ""
    _ = take(")")
    switch name {
    case "os": return argument == platform
    case "canImport":
      switch argument {
      case "AppKit": return platform == "macOS"
      case "UIKit": return platform != "macOS"
      case "AVFoundation", "MediaPlayer", "ObjectiveC", "Darwin": return true
      default: return false
      }
    default: return false
    }
  }
}
