// SPDX-License-Identifier: MIT
import Foundation

#if os(Linux)
  import CLinuxSystem
#endif

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
    if properties.isEmojiPresentation { return 2 }
    let width = UnicodeLocale.width(of: self)
    guard width < 0 else { return width }
    // Unknown to the system: not for printing, or newer than its tables.
    switch properties.generalCategory {
    case .control, .format, .nonspacingMark, .enclosingMark, .lineSeparator, .paragraphSeparator:
      return 0
    default: return 1
    }
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

/// A locale whose characters are Unicode, whatever the environment says.
private enum UnicodeLocale {
  /// Nil if the system has none. Unsafe: never changed.
  nonisolated(unsafe) private static let locale =
    newlocale(LC_CTYPE_MASK, "C.UTF-8", nil) ?? newlocale(LC_CTYPE_MASK, "UTF-8", nil)

  /// Returns the columns by the system's tables (wcwidth(3)); -1 for a character that is not in them.
  static func width(of scalar: Unicode.Scalar) -> Int {
    guard let locale else { return -1 }
    // Holds for this thread alone (uselocale(3)).
    let before = uselocale(locale)
    defer { uselocale(before) }
    #if os(Linux)
      return Int(refrain_wcwidth(wchar_t(scalar.value)))
    #else
      return Int(wcwidth(wchar_t(scalar.value)))
    #endif
  }
}
