// SPDX-License-Identifier: MIT
import Foundation

/// Fits text into columns of a terminal.
struct TextFit: Sendable {
  enum Kept: Sendable {
    /// For titles and sentences.
    case beginning
    /// For URLs: the host and the file both matter.
    case bothEnds
  }

  /// Replaces omitted text.
  var ellipsis = "…"
  /// Whether only ASCII can be written; `?` replaces other characters.
  var isASCII = false

  /// Returns text from elsewhere without characters that could control a terminal or pile up on one
  /// column.
  func clean(_ text: String) -> String {
    let text = printable(text)
    guard !text.utf8.allSatisfy({ $0 < 0x80 }) else { return text }
    return text.reduce(into: "") { result, character in
      if isASCII, !character.isASCII {
        result += String(repeating: "?", count: character.displayWidth)
      } else if character.unicodeScalars.count > 24 {
        result.unicodeScalars.append(contentsOf: character.unicodeScalars.prefix(1))
      } else {
        result.append(character)
      }
    }
  }

  /// Returns the text in at most `width` columns.
  func shortened(_ text: String, to width: Int, keeping kept: Kept = .beginning) -> String {
    guard text.displayWidth > width else { return text }
    let room = width - ellipsis.displayWidth
    guard room > 0 else { return Self.prefix(text, width) }
    switch kept {
    case .beginning:
      return Self.prefix(text, room) + ellipsis
    case .bothEnds:
      let tail = String(Self.prefix(String(text.reversed()), room / 2).reversed())
      return Self.prefix(text, room - tail.displayWidth) + ellipsis + tail
    }
  }

  /// Returns the text's words in at most `most` lines of at most `width` columns; the rest is left
  /// out.
  func wrapped(_ text: String, to width: Int, lines most: Int) -> [String] {
    guard width > 0, most > 0 else { return [] }
    var lines: [String] = []
    var line = ""
    var words = text.split(separator: " ").map(String.init)[...]
    while let word = words.first {
      let longer = line.isEmpty ? word : "\(line) \(word)"
      if longer.displayWidth <= width {
        line = longer
        words.removeFirst()
        continue
      }
      if lines.count == most - 1 {
        let rest = ([line] + words).filter { !$0.isEmpty }.joined(separator: " ")
        return lines + [shortened(rest, to: width, keeping: .beginning)]
      }
      if line.isEmpty {
        // A word that is wider than a line is cut.
        let head = Self.prefix(word, width)
        guard !head.isEmpty else { return lines }
        lines.append(head)
        words[words.startIndex] = String(word.dropFirst(head.count))
      } else {
        lines.append(line)
        line = ""
      }
    }
    return line.isEmpty ? lines : lines + [line]
  }

  private static func prefix(_ text: String, _ width: Int) -> String {
    var (result, used) = ("", 0)
    for character in text {
      let next = used + character.displayWidth
      guard next <= width else { break }
      result.append(character)
      used = next
    }
    return result
  }
}

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
