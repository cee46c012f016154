// SPDX-License-Identifier: MIT

/// A position that is being typed. A pure value.
struct TypedTime: Sendable, Hashable {
  /// `1:02:03.5` is about the longest that makes sense.
  private static let longest = 12

  private(set) var text = ""

  mutating func type(_ typed: String) {
    let fitting = typed.filter { $0.isASCII && ($0.isNumber || $0 == ":" || $0 == ".") }
    text = String((text + fitting).prefix(Self.longest))
  }

  /// Deletes the last character. Returns false if there is none.
  mutating func untype() -> Bool { text.popLast() != nil }

  mutating func clear() { text = "" }

  enum Target: Hashable {
    case position(Duration)
    /// What the listener has to know.
    case refused(String)
  }

  /// Returns where the time leads in an item; nil if nothing was typed.
  func target(in duration: Duration?) -> Target? {
    guard !text.isEmpty else { return nil }
    guard let position = try? TimeText.parse(text) else {
      return .refused("\(text) is not a position. Type seconds, or as in 1:30.")
    }
    if let duration, position >= duration {
      return .refused("The item lasts \(TimeText.position(duration)).")
    }
    return .position(position)
  }
}
