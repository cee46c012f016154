// SPDX-License-Identifier: MIT

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
