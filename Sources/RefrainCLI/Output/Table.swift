// SPDX-License-Identifier: MIT

/// Columns of text, each as wide as its widest cell.
struct Table {
  enum Alignment: Sendable { case left, right }

  struct Column: Sendable {
    var title: String
    var alignment = Alignment.left
  }

  var columns: [Column]
  var rows: [[String]] = []

  /// Returns the lines without line ends and trailing white space.
  ///
  /// - Parameter width: if given, the last column is shortened to fit.
  func lines(width: Int? = nil) -> [String] {
    let cells = [columns.map(\.title)] + rows
    // The last column needs no padding if it is left-aligned.
    let widths = columns.indices.map { index in
      index == columns.count - 1 && columns[index].alignment == .left
        ? 0 : cells.map { index < $0.count ? $0[index].count : 0 }.max() ?? 0
    }
    return cells.map { line($0, widths, width) }
  }

  private func line(_ cells: [String], _ widths: [Int], _ width: Int?) -> String {
    var text = ""
    for (index, cell) in cells.enumerated() where index < columns.count {
      if index > 0 { text += "  " }
      if index == columns.count - 1, let width {
        text += shortened(cell, to: max(12, width - text.count))
        continue
      }
      let padding = String(repeating: " ", count: max(0, widths[index] - cell.count))
      text += columns[index].alignment == .right ? padding + cell : cell + padding
    }
    while text.last == " " { text.removeLast() }
    return text
  }
}
