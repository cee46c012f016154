// SPDX-License-Identifier: MIT

/// Columns and rows of a terminal.
struct ScreenSize: Sendable, Hashable {
  var columns: Int
  var rows: Int
}

/// Draws a `ScreenModel`: a pure function of the model and the size.
///
/// With few rows, the address and white space are dropped first, then messages, tracks, artist and
/// album, settings, the hints and the figures. The title and the scrubber stay; the queue takes the
/// rest.
struct ScreenRenderer: Sendable {
  var glyphs: Glyphs
  var fit: TextFit

  init(_ style: BarStyle) {
    glyphs = style == .blocks ? .unicode : .ascii
    fit = TextFit(ellipsis: glyphs.ellipsis, isASCII: style == .ascii)
  }

  /// Returns at most `size.rows` lines of at most `size.columns` columns.
  func lines(_ model: ScreenModel, _ size: ScreenSize) -> [StyledLine] {
    guard size.columns > 0, size.rows > 0 else { return [] }
    let margin = margin(size)
    let width = size.columns - 2 * margin
    let content =
      model.isHelpVisible
      ? helpPage(width, size.rows, from: model.helpOffset)
      : page(model, width: width, rows: size.rows)
    return content.prefix(size.rows).map { line in
      guard margin > 0 else { return line }
      var shifted = StyledLine(String(repeating: " ", count: margin))
      shifted.add(line)
      return shifted
    }
  }

  /// Returns how many lines the help can be scrolled; 0 if all of it is visible.
  func helpOverflow(_ size: ScreenSize) -> Int {
    let width = size.columns - 2 * margin(size)
    return max(0, helpLines(width, size.rows).count - helpRoom(size.rows))
  }

  private func margin(_ size: ScreenSize) -> Int {
    size.columns >= 60 ? 2 : size.columns >= 30 ? 1 : 0
  }

  private func page(_ model: ScreenModel, width: Int, rows: Int) -> [StyledLine] {
    let isRoomy = rows >= 16
    let blank = [StyledLine()]
    var top: [StyledLine] = isRoomy ? blank : []
    // Without room for the hints, a typed line takes the place of the title.
    let typed = rows < 4 ? model.typedLine : nil
    top.append(typed.map { typedLine($0, width) } ?? titleLine(model, width))
    if isRoomy || (rows >= 8 && !model.details.isEmpty) { top.append(detailsLine(model, width)) }
    if rows >= 32 { top.append(addressLine(model, width)) }
    if isRoomy { top += blank }
    if rows >= 2 { top.append(scrubberLine(model, width)) }
    if rows >= 3 { top += figures(model, width, lines: isRoomy ? 4 : rows >= 8 ? 2 : 1) }
    if rows >= 9, !model.tracks.isEmpty { top.append(tracksLine(model.tracks, width)) }
    if rows >= 7 { top.append(settingsLine(model, width)) }
    if rows >= 12 { top += blank }

    var bottom: [StyledLine] = []
    if rows >= 10, !model.messages.isEmpty {
      if isRoomy { bottom += blank }
      bottom += messageLines(model, width, most: rows >= 30 ? 6 : 3)
    }
    if rows >= 4 {
      if rows >= 12 { bottom += blank }
      bottom.append(hintLine(model, width))
    }
    let room = rows - top.count - bottom.count
    let isQueueDue = room >= 2 && (model.queue.rows.count > 0 || model.queue.filter != nil)
    var middle = isQueueDue ? queueLines(model.queue, width, room) : []
    // The hints stay at the foot.
    middle += Array(repeating: StyledLine(), count: max(0, room - middle.count))
    return top + middle + bottom
  }

  private func messageLines(_ model: ScreenModel, _ width: Int, most: Int) -> [StyledLine] {
    model.messages.suffix(most).map { message in
      let (glyph, style): (String, Style) =
        switch message.level {
        case .note: (glyphs.note, .dim)
        case .warning: (glyphs.warning, .colour(.yellow))
        case .error: (glyphs.failed, .colour(.red))
        }
      var line = StyledLine(fit.shortened(glyph, to: width), style)
      line.add(
        fit.shortened("  " + fit.clean(message.text), to: width - line.width),
        message.level == .note ? .dim : .plain)
      return line
    }
  }

  private func hintLine(_ model: ScreenModel, _ width: Int) -> StyledLine {
    if let typed = model.typedLine { return typedLine(typed, width) }
    if model.queue.filter != nil {
      return keyLine(
        [
          KeyHint("enter", "plays", rank: 2), KeyHint(glyphs.upDown, "choose", rank: 0),
          KeyHint("esc", "leaves", rank: 1),
        ], width)
    }
    return keyLine(
      [
        KeyHint("space", model.status.isWanted ? "pause" : "play", rank: 3),
        KeyHint(glyphs.leftRight, "seek", rank: 2),
        KeyHint("n p", "next, previous", rank: 0), KeyHint("/", "filter", rank: 1),
        KeyHint("?", "help", rank: 4), KeyHint("q", "quit", rank: 5),
      ], width)
  }

  /// Returns keys and their actions side by side; those of the lowest rank are dropped first.
  func keyLine(_ hints: [KeyHint], _ width: Int) -> StyledLine {
    var shown = hints
    while shown.reduce(-3, { $0 + $1.width + 3 }) > width {
      shown.removeAll { [least = shown.map(\.rank).min()] in $0.rank == least }
    }
    var line = StyledLine()
    for hint in shown {
      line.pad(to: line.width == 0 ? 0 : line.width + 3)
      line.add(hint.key, .bold)
      line.add(" \(hint.action)", .dim)
    }
    return line
  }
}

/// A key and its action.
struct KeyHint: Sendable {
  var key: String
  var action: String
  /// With little room, hints of a higher rank stay longer.
  var rank: Int

  init(_ key: String, _ action: String, rank: Int) {
    self.key = key
    self.action = action
    self.rank = rank
  }

  var width: Int { key.displayWidth + 1 + action.displayWidth }
}

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
