// SPDX-License-Identifier: MIT

/// A key as a terminal reports it.
struct Key: Sendable, Hashable {
  enum Code: Sendable, Hashable {
    /// Typed text; with control, the lowercase letter. Combining marks arrive one by one.
    case text(Character)
    case up, down, left, right, home, end, pageUp, pageDown
    case enter, tab, backspace, delete, insert, escape
    case function(Int)
    /// Pasted text, unchanged.
    case paste(String)
  }

  struct Modifiers: OptionSet, Sendable, Hashable {
    var rawValue: Int

    // xterm's numbers (ctlseqs, "PC-Style Function Keys"), minus one.
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
