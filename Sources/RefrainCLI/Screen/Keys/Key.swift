// SPDX-License-Identifier: MIT

/// A key as a terminal tells it.
struct Key: Sendable, Hashable {
  enum Code: Sendable, Hashable {
    /// What was typed; with control, the small letter. Marks that join come one by one.
    case text(Character)
    case up, down, left, right, home, end, pageUp, pageDown
    case enter, tab, backspace, delete, insert, escape
    case function(Int)
    /// What was pasted, as it came.
    case paste(String)
  }

  struct Modifiers: OptionSet, Sendable, Hashable {
    var rawValue: Int

    // As xterm counts them (ctlseqs, "PC-Style Function Keys"), less one.
    static let shift = Modifiers(rawValue: 1)
    static let alt = Modifiers(rawValue: 2)
    static let control = Modifiers(rawValue: 4)
  }

  var code: Code
  var modifiers: Modifiers = []

  init(_ code: Code, _ modifiers: Modifiers = []) {
    self.code = code
    self.modifiers = modifiers
  }

  init(_ text: Character, _ modifiers: Modifiers = []) { self.init(.text(text), modifiers) }
}
