// SPDX-License-Identifier: MIT

extension Character {
  /// The columns in a terminal: 2 for East Asian wide and fullwidth characters and for emoji, 0 for
  /// characters that only change their neighbour, else 1. Ambiguous width (Unicode) counts as 1.
  var displayWidth: Int {
    if isSimple { return 1 }
    let scalars = unicodeScalars
    guard let first = scalars.first else { return 0 }
    // A flag is two of these; most terminals draw a single one like a flag.
    if (0x1F1E6...0x1F1FF).contains(first.value) { return 2 }
    if scalars.count > 1, first.properties.isEmoji,
      scalars.dropFirst().contains(where: \.makesEmoji)
    {
      return 2
    }
    return scalars.reduce(0) { $0 + $1.displayWidth }
  }

  /// Whether it is printable ASCII: every terminal agrees that this is one column.
  var isSimple: Bool {
    guard let value = asciiValue else { return false }
    return value >= 0x20 && value < 0x7F
  }
}

extension Unicode.Scalar {
  fileprivate var displayWidth: Int {
    switch properties.generalCategory {
    case .control, .nonspacingMark, .enclosingMark, .lineSeparator, .paragraphSeparator: return 0
    default: break
    }
    // Ignorable by the standard, but terminals draw the soft hyphen.
    if properties.isDefaultIgnorableCodePoint { return value == 0xAD ? 1 : 0 }
    // Hangul vowels and final consonants combine with the syllable's first consonant.
    if (0x1160...0x11FF).contains(value) || (0xD7B0...0xD7FB).contains(value) { return 0 }
    return EastAsianWidth.isWide(self) || properties.isEmojiPresentation ? 2 : 1
  }

  /// Whether it joins emoji, requests the coloured picture, or sets the skin colour.
  fileprivate var makesEmoji: Bool {
    value == 0x200D || value == 0xFE0F || properties.isEmojiModifier
  }
}

extension StringProtocol {
  /// The columns in a terminal.
  var displayWidth: Int { reduce(0) { $0 + $1.displayWidth } }
}
