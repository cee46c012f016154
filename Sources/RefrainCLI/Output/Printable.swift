// SPDX-License-Identifier: MIT
import Foundation

/// Returns text from elsewhere (an origin, a file) fit for one line of a terminal: control
/// characters, which could move the cursor or set a title, become `\u{…}`.
func printable(_ text: String) -> String {
  // Most text is ASCII, and needs no table lookup.
  if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text }
  guard text.unicodeScalars.contains(where: isControl) else { return text }
  return text.unicodeScalars.reduce(into: "") { result, scalar in
    if isControl(scalar) {
      result += "\\u{\(String(scalar.value, radix: 16))}"
    } else {
      result.unicodeScalars.append(scalar)
    }
  }
}

/// Includes line separators and the marks that change the direction of text.
private func isControl(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.properties.generalCategory {
  case .control, .lineSeparator, .paragraphSeparator: true
  case .format: (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
  default: false
  }
}

/// Returns at most `width` characters of the text, without its middle: both ends of a URL matter.
func shortened(_ text: String, to width: Int) -> String {
  guard text.utf8.count > width, text.count > width else { return text }
  guard width > 1 else { return String(text.prefix(max(0, width))) }
  let tail = width / 2
  return "\(text.prefix(width - 1 - tail))…\(text.suffix(tail))"
}

/// Text for programs: JSON in one line, with sorted keys and RFC 3339 dates.
enum JSONText {
  static func line(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }
}

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
