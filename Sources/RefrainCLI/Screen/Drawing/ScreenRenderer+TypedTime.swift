// SPDX-License-Identifier: MIT

extension ScreenRenderer {
  /// Returns the line in which a position is typed.
  func timeLine(_ time: TypedTime, _ width: Int) -> StyledLine {
    var line = StyledLine(fit.shortened("Go to ", to: width), .bold)
    line.add(fit.shortened(time.text, to: max(0, width - line.width - 1)))
    if line.width < width { line.add(glyphs.caret, .colour(.cyan)) }
    let hints = keyLine(
      [KeyHint("enter", "seeks", rank: 1), KeyHint("esc", "leaves", rank: 0)],
      max(0, width - line.width - 3))
    guard hints.width > 0, line.width + 3 + hints.width <= width else { return line }
    line.pad(to: line.width + 3)
    line.add(hints)
    return line
  }
}
