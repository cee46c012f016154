// SPDX-License-Identifier: MIT

extension ScreenRenderer {
  /// Returns the line that is being typed.
  func typedLine(_ typed: TypedLine, _ width: Int) -> StyledLine {
    let (label, action) =
      switch typed.purpose {
      case .time: ("Go to ", "seeks")
      case .addition: ("Add ", "adds to the queue")
      }
    var line = StyledLine(fit.shortened(label, to: width), .bold)
    line.add(end(of: typed.text, in: width - line.width - 1))
    if line.width < width { line.add(glyphs.caret, .colour(.cyan)) }
    let hints = keyLine(
      [KeyHint("enter", action, rank: 1), KeyHint("esc", "leaves", rank: 0)],
      max(0, width - line.width - 3))
    guard hints.width > 0, line.width + 3 + hints.width <= width else { return line }
    line.pad(to: line.width + 3)
    line.add(hints)
    return line
  }

  /// Returns the end of a typed text, which stays visible.
  func end(of text: String, in width: Int) -> String {
    // A pasted text may be long.
    let last = text.suffix(max(0, width)).map { $0.isNewline ? " " : $0 }
    var shown = fit.clean(String(last))
    while shown.displayWidth > max(0, width) { shown.removeFirst() }
    return shown
  }
}
