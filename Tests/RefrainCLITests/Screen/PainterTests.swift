// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainCLI

struct PainterTests {
  private let size = ScreenSize(columns: 10, rows: 3)

  private func text(_ bytes: [UInt8]) -> String {
    String(decoding: bytes, as: UTF8.self).replacing("\u{1B}", with: "^")
  }

  @Test func `The first screen is painted completely`() {
    var painter = Painter(isColoured: true)
    #expect(
      text(painter.paint([StyledLine("ab"), StyledLine(), StyledLine("c", .dim)], size))
        == "^[?2026h^[0m^[2J^[1;1H^[0m^[2Kab^[3;1H^[0m^[2K^[0;2mc^[0m^[?2026l")
  }

  @Test func `Only changed lines are painted`() {
    var painter = Painter(isColoured: true)
    _ = painter.paint([StyledLine("ab"), StyledLine("cd")], size)
    #expect(painter.paint([StyledLine("ab"), StyledLine("cd")], size).isEmpty)
    let changed = text(painter.paint([StyledLine("ab"), StyledLine("ce")], size))
    #expect(changed == "^[?2026h^[2;1H^[0m^[2Kce^[0m^[?2026l")
    let shorter = text(painter.paint([StyledLine("ab")], size))
    #expect(shorter == "^[?2026h^[2;1H^[0m^[2K^[0m^[?2026l")
  }

  @Test func `A resized screen is painted completely`() {
    var painter = Painter(isColoured: true)
    _ = painter.paint([StyledLine("ab")], size)
    let bytes = painter.paint([StyledLine("ab")], ScreenSize(columns: 11, rows: 3))
    #expect(text(bytes).contains("^[2J") && text(bytes).contains("ab"))
  }

  @Test func `A forgotten screen is painted completely`() {
    var painter = Painter(isColoured: true)
    _ = painter.paint([StyledLine("ab")], size)
    painter.forget()
    #expect(text(painter.paint([StyledLine("ab")], size)).contains("ab"))
  }

  @Test func `Bold and reversed text remain without colours`() {
    var line = StyledLine("a", Style(colour: .red, isBold: true))
    line = line.reversed
    var coloured = Painter(isColoured: true)
    #expect(text(coloured.paint([line], size)).contains("^[0;1;7;31ma"))
    var plain = Painter(isColoured: false)
    #expect(text(plain.paint([line], size)).contains("^[0;1;7ma"))
  }

  @Test func `Text after a wide character begins in the right column`() {
    var painter = Painter(isColoured: true)
    var line = StyledLine("桜", .bold)
    line.add("x")
    #expect(text(painter.paint([line], size)).contains("桜^[3G^[0mx"))
  }

  @Test func `Lines beyond the last row are not painted`() {
    var painter = Painter(isColoured: true)
    let lines = (1...5).map { StyledLine("\($0)") }
    #expect(!text(painter.paint(lines, size)).contains("^[4;1H"))
  }
}
