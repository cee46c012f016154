// SPDX-License-Identifier: MIT
import Foundation

/// The queue: a list with a heading, whose selection stays visible.
extension ScreenRenderer {
  /// Returns at most `rows` lines, including the heading.
  func queueLines(_ queue: QueueList, _ width: Int, _ rows: Int) -> [StyledLine] {
    let matches = queue.matches
    var lines = [heading(queue, matches, width)]
    guard !matches.isEmpty else {
      return lines + [StyledLine(fit.shortened("   Nothing matches.", to: width), .dim)]
    }
    let selection = queue.selection(among: matches)
    let focus = matches.firstIndex { $0.id == selection?.id } ?? 0
    let room = rows - 1
    let first = max(0, min(focus - room / 2, matches.count - room))
    let columns = Columns(queue.rows, width)
    for row in matches[first...].prefix(room) {
      lines.append(line(row, columns, width, isSelected: row.id == selection?.id))
    }
    return lines
  }

  private func heading(_ queue: QueueList, _ matches: [QueueList.Row], _ width: Int) -> StyledLine {
    var line = StyledLine()
    let figures: String
    if let filter = queue.filter {
      let label = fit.shortened("Filter ", to: width - 2)
      line.add(label, .bold)
      line.add(end(of: filter, in: width - line.width - 14))
      line.add(width > line.width ? glyphs.caret : "", .colour(.cyan))
      figures = "\(matches.count) of \(queue.rows.count)"
    } else {
      line.add(fit.shortened("Queue", to: width), .bold)
      let position = queue.current.map { "\($0.number) of \(queue.rows.count)" }
      figures =
        ([position ?? "\(queue.rows.count)"] + [total(queue)]).compactMap(\.self)
        .joined(separator: " \(glyphs.separator) ")
    }
    let rule = width - line.width - figures.displayWidth - 2
    guard rule >= 1 else { return line }
    line.add(" " + String(repeating: glyphs.rule, count: rule) + " ", .dim)
    line.add(figures, .dim)
    return line
  }

  /// Returns the duration of all items; nil if one is unknown, and for a single item.
  private func total(_ queue: QueueList) -> String? {
    var sum = Duration.zero
    for row in queue.rows {
      guard let duration = row.duration else { return nil }
      sum += duration
    }
    return queue.rows.count > 1 ? TimeText.position(sum) : nil
  }

  /// The widths of the list's columns; 0: the column does not fit.
  private struct Columns {
    var number: Int
    var title: Int
    var artist = 0
    var cached = 0
    var duration = 0

    init(_ rows: [QueueList.Row], _ width: Int) {
      number = "\(rows.count)".count
      var room = width - 5 - number - 1
      let times = rows.compactMap { $0.duration.map(TimeText.position) }
      if room >= 24, let widest = times.map(\.count).max() {
        duration = widest
        room -= widest + 2
      }
      if room >= 30, rows.contains(where: { $0.cached != nil }) {
        cached = 4
        room -= cached + 2
      }
      if room >= 50, rows.contains(where: { $0.artist != nil }) {
        artist = min(36, room / 3)
        room -= artist + 2
      }
      title = max(0, room)
    }
  }

  private func line(
    _ row: QueueList.Row, _ columns: Columns, _ width: Int, isSelected: Bool
  ) -> StyledLine {
    let style =
      row.hasFailed
      ? Style(colour: .red)
      : row.isCurrent ? Style(colour: .cyan, isBold: true) : .plain
    var line = StyledLine()
    line.add(isSelected ? glyphs.selected : " ", .bold)
    line.pad(to: 2)
    line.add(row.hasFailed ? glyphs.failed : row.isCurrent ? glyphs.playing : " ", style)
    line.pad(to: 4)
    let number = "\(row.number)"
    line.pad(to: 4 + columns.number - number.count)
    line.add(number, .dim)
    line.pad(to: line.width + 2)
    guard columns.title >= 4 else {
      return line.width <= width ? line : StyledLine()
    }
    var column = line.width
    func next(_ text: String, _ columnWidth: Int, _ style: Style, isRight: Bool = false) {
      guard columnWidth > 0 else { return }
      let text = fit.shortened(text, to: columnWidth)
      if isRight { line.pad(to: column + columnWidth - text.displayWidth) }
      line.add(text, style)
      column += columnWidth
      line.pad(to: column)
      column += 2
    }
    next(
      fit.clean(columns.artist > 0 ? row.title : row.fullTitle(fit.isASCII ? "-" : "–")),
      columns.title, style)
    for (text, columnWidth, isRight) in [
      (row.artist.map(fit.clean) ?? "", columns.artist, false),
      (row.cached.map(cachedText) ?? "", columns.cached, true),
      (row.duration.map(TimeText.position) ?? "", columns.duration, true),
    ] where columnWidth > 0 {
      line.pad(to: column)
      next(text, columnWidth, .dim, isRight: isRight)
    }
    return isSelected ? line.reversed : line
  }

  private func cachedText(_ part: Double) -> String {
    part > 0 ? "\(part >= 1 ? 100 : Int(part * 100))%" : ""
  }
}

extension QueueList.Row {
  /// "Artist – Title", where there is no column for the artist; a title may name him already.
  fileprivate func fullTitle(_ dash: String) -> String {
    guard let artist, !artist.isEmpty, title.range(of: artist, options: .caseInsensitive) == nil
    else { return title }
    return "\(artist) \(dash) \(title)"
  }
}
