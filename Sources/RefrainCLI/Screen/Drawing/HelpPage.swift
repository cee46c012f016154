// SPDX-License-Identifier: MIT

/// All keys, and the meaning of the scrubber's shades.
extension ScreenRenderer {
  /// Returns as many lines as fit, from the `offset`-th on; all of them if they fit.
  func helpPage(_ width: Int, _ rows: Int, from offset: Int = 0) -> [StyledLine] {
    let isRoomy = isRoomy(rows)
    var lines: [StyledLine] = isRoomy ? [StyledLine()] : []
    lines.append(StyledLine(fit.shortened("Keys", to: width), .bold))
    if isRoomy { lines.append(StyledLine()) }
    let content = helpLines(width, rows)
    let room = helpRoom(rows)
    let overflow = max(0, content.count - room)
    lines += content.dropFirst(min(max(0, offset), overflow)).prefix(room)
    if isRoomy {
      lines.append(StyledLine())
      lines.append(legend(width))
    }
    while lines.count < rows - 1 { lines.append(StyledLine()) }
    if rows > 2 {
      lines.append(
        overflow > 0
          ? keyLine(
            [
              KeyHint(glyphs.upDown, "scroll", rank: 1),
              KeyHint("any other", "closes this", rank: 0),
            ], width)
          : keyLine([KeyHint("any key", "closes this", rank: 0)], width))
    }
    return lines
  }

  private func isRoomy(_ rows: Int) -> Bool { rows >= 18 }

  /// Returns the number of lines between the heading and the foot.
  func helpRoom(_ rows: Int) -> Int {
    let isRoomy = isRoomy(rows)
    return max(0, rows - (isRoomy ? 3 : 1) - (isRoomy ? 4 : 1))
  }

  /// Returns the keys in as many columns as fit, each read from top to bottom, followed by the
  /// legend if it has no place of its own.
  func helpLines(_ width: Int, _ rows: Int) -> [StyledLine] {
    let keys = helpKeys
    let room = helpRoom(rows)
    let columns = max(1, min(width / 36, room == 0 ? 1 : (keys.count + room - 1) / room))
    let height = (keys.count + columns - 1) / columns
    let columnWidth = width / columns
    var lines = (0..<height).map { index in
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
      return line
    }
    if !isRoomy(rows) { lines += [StyledLine()] + legendLines(width) }
    return lines
  }

  private var helpKeys: [(String, String)] {
    [
      ("space", "pause, play"),
      (glyphs.leftRight, "back, forward 5 s"),
      ("shift, ctrl", "with arrows: 60 s"),
      ("0 to 9", "to that tenth"),
      ("home", "to the start"),
      (":", "to a typed time"),
      ("L", "to the present, if live"),
      ("n  p", "next, previous"),
      ("+  -", "louder, softer"),
      ("m", "mute"),
      ("[  ]", "slower, faster"),
      ("backspace", "normal speed"),
      ("r", "repeat: off, all, one"),
      ("S", "shuffle"),
      ("t", "sleep timer"),
      ("s  a", "next subtitle, sound"),
      ("v  f", "window, fullscreen"),
      (glyphs.upDown, "select an item"),
      ("enter", "play the selected"),
      ("x", "remove the selected"),
      ("J  K", "move it down, up"),
      ("g  G", "first, last item"),
      ("/", "filter the queue"),
      ("A", "add to the queue"),
      ("?", "this page"),
      ("q", "quit"),
      ("ctrl-Z", "suspend"),
      ("ctrl-L", "redraw"),
    ]
  }

  private var shades: [(String, Style, String)] {
    [
      (glyphs.played, Style(colour: .cyan, isBold: true), "played"),
      (glyphs.cached, .colour(.cyan), "stored"),
      (glyphs.coming, .colour(.yellow), "being fetched"),
      (glyphs.missing, .dim, "not stored"),
    ]
  }

  /// Returns a line for each shade.
  private func legendLines(_ width: Int) -> [StyledLine] {
    shades.map { glyph, style, word in
      var line = StyledLine(String(repeating: glyph, count: min(4, width)), style)
      line.pad(to: min(width, 13))
      line.add(fit.shortened(word, to: max(0, width - line.width)))
      return line
    }
  }

  private func legend(_ width: Int) -> StyledLine {
    var line = StyledLine()
    for (glyph, style, word) in shades {
      guard line.width + 7 + word.count + 3 <= width else { break }
      if line.width > 0 { line.pad(to: line.width + 3) }
      line.add(String(repeating: glyph, count: 4), style)
      line.add(" \(word)", .dim)
    }
    return line
  }
}
