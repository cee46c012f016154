// SPDX-License-Identifier: MIT

/// Turns screens into bytes for a terminal, and remembers what it shows: unchanged lines cost
/// nothing. A pure value.
struct Painter: Sendable {
  var isColoured = true

  private var shown: [StyledLine] = []
  private var size: ScreenSize?

  init(isColoured: Bool) { self.isColoured = isColoured }

  /// Forgets what the terminal shows: the next screen is painted whole.
  mutating func forget() { size = nil }

  /// Returns the bytes that change the shown lines into these; none if nothing changes.
  mutating func paint(_ lines: [StyledLine], _ size: ScreenSize) -> [UInt8] {
    var text = ""
    if size != self.size {
      text += "\u{1B}[0m\u{1B}[2J"
      shown = []
    }
    for row in 0..<size.rows {
      let new = row < lines.count ? lines[row] : StyledLine()
      let old = row < shown.count ? shown[row] : StyledLine()
      if new != old { text += painted(new, at: row) }
    }
    shown = lines
    self.size = size
    guard !text.isEmpty else { return [] }
    // Synchronized output, DEC private mode 2026: terminals that support it show all at once.
    return Array("\u{1B}[?2026h\(text)\u{1B}[0m\u{1B}[?2026l".utf8)
  }

  /// Erases the row first: erasing after text in the last column would delete its character.
  private func painted(_ line: StyledLine, at row: Int) -> String {
    var text = "\u{1B}[\(row + 1);1H\u{1B}[0m\u{1B}[2K"
    var column = 0
    var style = Style.plain
    for piece in line.pieces {
      if piece.style != style {
        text += sequence(piece.style)
        style = piece.style
      }
      text += piece.text
      column += piece.text.displayWidth
      // Terminals disagree on the width of some characters: set the column of the next piece.
      if !piece.text.allSatisfy(\.isSimple) { text += "\u{1B}[\(column + 1)G" }
    }
    return text
  }

  /// Select Graphic Rendition (ECMA-48, 8.3.117).
  private func sequence(_ style: Style) -> String {
    var codes = ["0"]
    if style.isBold { codes.append("1") }
    if style.isDim { codes.append("2") }
    if style.isReversed { codes.append("7") }
    if isColoured, let colour = style.colour { codes.append("\(colour.rawValue)") }
    return "\u{1B}[\(codes.joined(separator: ";"))m"
  }
}
