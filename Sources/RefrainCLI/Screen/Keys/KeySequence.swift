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

/// Maps the sequences of terminals to keys (xterm's ctlseqs, "PC-Style Function Keys").
enum KeySequence {
  /// Returns the key of `ESC [ parameters final`; nil if none is known.
  static func key(parameters: [UInt8], final: UInt8) -> Key? {
    guard parameters.allSatisfy({ (0x30...0x3B).contains($0) }) else { return nil }
    // A parameter may have parts, as in 1:3: only the first matters.
    let numbers = parameters.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
      .map { part in
        part.prefix { $0 != UInt8(ascii: ":") }
          .reduce(0) { min(0x110000, $0 * 10 + Int($1) - 0x30) }
      }
    let modifiers = modifiers(numbers.count > 1 ? numbers[1] : 1)
    switch final {
    case UInt8(ascii: "~"):
      // xterm's modifyOtherKeys: 27 ; modifiers ; character.
      if numbers.first == 27, numbers.count == 3 { return key(codePoint: numbers[2], modifiers) }
      return numbers.first.flatMap { numbered[$0] }.map { Key($0, modifiers) }
    case UInt8(ascii: "u"):
      return numbers.first.flatMap { key(codePoint: $0, modifiers) }
    case UInt8(ascii: "Z"): return Key(.tab, .shift)
    default: return key(final: final, modifiers)
    }
  }

  /// Returns the key of `ESC O final`, and of control sequences with the same end.
  static func key(final: UInt8, _ modifiers: Key.Modifiers) -> Key? {
    finals[final].map { Key($0, modifiers) } ?? rxvt[final]
  }

  /// Returns the modifiers: 2 is shift, 3 alt, 5 control, and so on; 1 is none.
  static func modifiers(_ number: Int) -> Key.Modifiers {
    Key.Modifiers(rawValue: max(0, number - 1)).intersection([.shift, .alt, .control])
  }

  private static func key(codePoint: Int, _ modifiers: Key.Modifiers) -> Key? {
    switch codePoint {
    case 9: return Key(.tab, modifiers)
    case 13: return Key(.enter, modifiers)
    case 27: return Key(.escape, modifiers)
    case 8, 127: return Key(.backspace, modifiers)
    default:
      guard let scalar = UInt32(exactly: codePoint).flatMap(Unicode.Scalar.init),
        scalar.properties.generalCategory != .control
      else { return nil }
      // The character already reflects Shift.
      return Key(Character(scalar), modifiers.subtracting(.shift))
    }
  }

  private static let finals: [UInt8: Key.Code] = [
    UInt8(ascii: "A"): .up, UInt8(ascii: "B"): .down, UInt8(ascii: "C"): .right,
    UInt8(ascii: "D"): .left, UInt8(ascii: "H"): .home, UInt8(ascii: "F"): .end,
    UInt8(ascii: "M"): .enter, UInt8(ascii: "P"): .function(1), UInt8(ascii: "Q"): .function(2),
    UInt8(ascii: "R"): .function(3), UInt8(ascii: "S"): .function(4),
  ]

  /// rxvt sends shifted arrows as lowercase letters in a control sequence.
  private static let rxvt: [UInt8: Key] = [
    UInt8(ascii: "a"): Key(.up, .shift), UInt8(ascii: "b"): Key(.down, .shift),
    UInt8(ascii: "c"): Key(.right, .shift), UInt8(ascii: "d"): Key(.left, .shift),
  ]

  private static let numbered: [Int: Key.Code] = [
    1: .home, 2: .insert, 3: .delete, 4: .end, 5: .pageUp, 6: .pageDown, 7: .home, 8: .end,
    11: .function(1), 12: .function(2), 13: .function(3), 14: .function(4), 15: .function(5),
    17: .function(6), 18: .function(7), 19: .function(8), 20: .function(9), 21: .function(10),
    23: .function(11), 24: .function(12),
  ]
}
