// SPDX-License-Identifier: MIT

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
