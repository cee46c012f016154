// SPDX-License-Identifier: MIT

/// All keys, and what the scrubber's shades mean.
extension ScreenRenderer {
  func helpPage(_ width: Int, _ rows: Int) -> [StyledLine] {
    let keys: [(String, String)] = [
      ("space", "pause, play"),
      (glyphs.leftRight, "back, forward 5 s"),
      ("shift, ctrl", "and these: 60 s"),
      ("0 to 9", "to that tenth"),
      ("home", "to the start"),
      ("n  p", "next, previous"),
      ("+  -", "louder, softer"),
      ("m", "mute"),
      ("[  ]", "slower, faster"),
      ("backspace", "at rate 1"),
      ("r", "repeat: off, all, one"),
      ("s", "shuffle"),
      ("t", "sleep timer"),
      (glyphs.upDown, "select an item"),
      ("enter", "play the selected"),
      ("x", "remove the selected"),
      ("J  K", "move it down, up"),
      ("g  G", "first, last item"),
      ("/", "filter the queue"),
      ("?", "this page"),
      ("q", "quit"),
      ("ctrl-Z", "suspend"),
      ("ctrl-L", "draw anew"),
    ]
    let isRoomy = rows >= 18
    var lines: [StyledLine] = isRoomy ? [StyledLine()] : []
    lines.append(StyledLine(fit.shortened("Keys", to: width), .bold))
    if isRoomy { lines.append(StyledLine()) }
    let room = max(0, rows - lines.count - (isRoomy ? 4 : 1))
    // As many columns as there is room for, each read from top to bottom.
    let columns = max(1, min(width / 36, room == 0 ? 1 : (keys.count + room - 1) / room))
    let height = min(room, (keys.count + columns - 1) / columns)
    let columnWidth = width / columns
    for index in 0..<height {
      var line = StyledLine()
      for column in 0..<columns {
        let position = column * height + index
        guard position < keys.count else { break }
        let key = keys[position]
        line.pad(to: column * columnWidth)
        let end = (column + 1) * columnWidth
        line.add(fit.shortened(key.0, to: min(11, max(0, end - line.width))), .bold)
        line.pad(to: min(end, column * columnWidth + 13))
        line.add(fit.shortened(key.1, to: max(0, end - line.width - 1)))
      }
      lines.append(line)
    }
    if isRoomy {
      lines.append(StyledLine())
      lines.append(legend(width))
    }
    while lines.count < rows - 1 { lines.append(StyledLine()) }
    if rows > 2 { lines.append(keyLine([KeyHint("any key", "closes this", rank: 0)], width)) }
    return lines
  }

  private func legend(_ width: Int) -> StyledLine {
    var line = StyledLine()
    let shades: [(String, Style, String)] = [
      (glyphs.played, Style(colour: .cyan, isBold: true), "played"),
      (glyphs.cached, .colour(.cyan), "stored"),
      (glyphs.coming, .colour(.yellow), "being fetched"),
      (glyphs.missing, .dim, "not stored"),
    ]
    for (glyph, style, word) in shades {
      guard line.width + 7 + word.count + 3 <= width else { break }
      if line.width > 0 { line.pad(to: line.width + 3) }
      line.add(String(repeating: glyph, count: 4), style)
      line.add(" \(word)", .dim)
    }
    return line
  }
}
