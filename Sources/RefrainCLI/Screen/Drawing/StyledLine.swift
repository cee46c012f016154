// SPDX-License-Identifier: MIT

/// The look of a piece of text, in colours that every terminal has, from the user's own palette.
struct Style: Sendable, Hashable {
  enum Colour: Int, Sendable, Hashable {
    case red = 31
    case green = 32
    case yellow = 33
    case cyan = 36
  }

  var colour: Colour?
  var isBold = false
  var isDim = false
  var isReversed = false

  static let plain = Style()
  static let bold = Style(isBold: true)
  static let dim = Style(isDim: true)

  static func colour(_ colour: Colour) -> Style { Style(colour: colour) }
}

/// A line of a screen: pieces of text from left to right.
struct StyledLine: Sendable, Hashable {
  struct Piece: Sendable, Hashable {
    var text: String
    var style: Style
  }

  private(set) var pieces: [Piece] = []
  /// In columns.
  private(set) var width = 0

  init() {}

  init(_ text: String, _ style: Style = .plain) { add(text, style) }

  var text: String { pieces.map(\.text).joined() }

  mutating func add(_ text: String, _ style: Style = .plain) {
    guard !text.isEmpty else { return }
    width += text.displayWidth
    if pieces.last?.style == style {
      pieces[pieces.count - 1].text += text
    } else {
      pieces.append(Piece(text: text, style: style))
    }
  }

  mutating func add(_ line: StyledLine) {
    for piece in line.pieces { add(piece.text, piece.style) }
  }

  /// Adds spaces up to a column.
  mutating func pad(to column: Int, _ style: Style = .plain) {
    add(String(repeating: " ", count: max(0, column - width)), style)
  }

  /// The line with every piece reversed, for a selected row.
  var reversed: StyledLine {
    var line = self
    for index in line.pieces.indices { line.pieces[index].style.isReversed = true }
    return line
  }
}

/// The characters of the screen, which are distinct without colour.
struct Glyphs: Sendable, Hashable {
  var playing = "▶"
  var paused = "‖"
  var loading = "○"
  var buffering = "◌"
  var stopped = "■"
  var failed = "✗"

  var played = "━"
  var position = "●"
  var cached = "─"
  var coming = "╌"
  var missing = "·"

  var rule = "─"
  var separator = "·"
  var selected = "›"
  var caret = "▏"
  var warning = "!"
  var note = "·"
  var ellipsis = "…"
  var times = "×"
  var leftRight = "← →"
  var upDown = "↑ ↓"

  static let unicode = Glyphs()

  static let ascii = Glyphs(
    playing: ">", paused: "=", loading: "o", buffering: "~", stopped: ".", failed: "x",
    played: "=", position: "O", cached: "-", coming: "~", missing: ".",
    rule: "-", separator: "-", selected: ">", caret: "_", warning: "!", note: "-", ellipsis: "...",
    times: "x", leftRight: "<- ->", upDown: "up down")
}
