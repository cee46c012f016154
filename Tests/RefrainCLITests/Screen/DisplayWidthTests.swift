// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainCLI

struct DisplayWidthTests {
  @Test(arguments: [
    ("", 0), ("abc", 3), ("桜", 2), ("ｆ", 2), ("ｶ", 1), ("한", 2), ("é", 1), ("e\u{301}", 1),
    ("\u{1112}\u{1161}\u{11AB}", 2),
    ("\u{200B}", 0), ("\u{FEFF}", 0), ("\u{301}", 0), ("\u{AD}", 1), ("\u{1B}", 0),
    ("α", 1), ("●", 1), ("━", 1), ("…", 1), ("·", 1), ("▶", 1),
    ("\u{1F338}", 2), ("\u{2764}", 1), ("\u{2764}\u{FE0F}", 2), ("1\u{FE0F}\u{20E3}", 2),
    ("\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}", 2), ("\u{1F1EF}\u{1F1F5}", 2),
    ("\u{1F44D}\u{1F3FD}", 2), ("\u{1F3F4}\u{200D}\u{2620}\u{FE0F}", 2),
    ("\u{3000}", 2), ("\u{303F}", 1), ("\u{20000}", 2), ("\u{1FAE8}", 2),
  ])
  func `The display width matches that of terminals`(_ text: String, _ width: Int) {
    #expect(text.displayWidth == width)
  }

  private func width(_ value: UInt32) throws -> Int {
    String(Character(try #require(Unicode.Scalar(value)))).displayWidth
  }

  /// The first and last character of each range are wide, and their neighbours outside are not.
  @Test(
    arguments: [
      (0x10FF, 0x1100), (0x2E7F, 0x2E80), (0xABFF, 0xAC00), (0xFF00, 0xFF01), (0x1FFFF, 0x20000),
    ] as [(UInt32, UInt32)])
  func `Ranges of wide characters begin at their first character`(
    _ before: UInt32, _ first: UInt32
  ) throws {
    #expect(try width(before) < 2)
    #expect(try width(first) == 2)
  }

  @Test(
    arguments: [
      (0x115F, 0x1160), (0xD7A3, 0xD7A4), (0xFF60, 0xFF61), (0xFFE6, 0xFFE7),
    ] as [(UInt32, UInt32)])
  func `Ranges of wide characters end at their last character`(
    _ last: UInt32, _ after: UInt32
  ) throws {
    #expect(try width(last) == 2)
    #expect(try width(after) < 2)
  }
}

struct TextFitTests {
  private let fit = TextFit()

  @Test func `A shortened title keeps its beginning`() {
    #expect(fit.shortened("abcdefghij", to: 10) == "abcdefghij")
    #expect(fit.shortened("abcdefghij", to: 7) == "abcdef…")
    #expect(fit.shortened("abc", to: 1) == "a")
    #expect(fit.shortened("abc", to: 0) == "")
  }

  @Test func `A shortened address keeps both ends`() {
    #expect(fit.shortened("https://h/a/b/c.flac", to: 12, keeping: .bothEnds) == "https:….flac")
  }

  @Test func `A wide character is never halved`() {
    #expect(fit.shortened("桜桜桜桜", to: 8) == "桜桜桜桜")
    #expect(fit.shortened("桜桜桜桜", to: 7) == "桜桜桜…")
    #expect(fit.shortened("桜桜桜桜", to: 6) == "桜桜…")
    #expect(fit.shortened("桜", to: 1) == "")
  }

  @Test func `Text is wrapped at words where possible`() {
    #expect(fit.wrapped("one two three", to: 7, lines: 3) == ["one two", "three"])
    #expect(fit.wrapped("one two three four", to: 7, lines: 2) == ["one two", "three …"])
    #expect(fit.wrapped("abcdefghij", to: 4, lines: 5) == ["abcd", "efgh", "ij"])
    #expect(fit.wrapped("桜桜", to: 1, lines: 5) == [])
    #expect(fit.wrapped("", to: 5, lines: 5) == [])
  }

  @Test func `Control characters are escaped, and piled combining marks are dropped`() {
    #expect(fit.clean("a\u{1B}[2Jb") == "a\\u{1b}[2Jb")
    let piled = "a" + String(repeating: "\u{301}", count: 1000) + "b"
    #expect(fit.clean(piled) == "ab")
  }

  @Test func `Question marks replace characters that are not ASCII`() {
    #expect(TextFit(ellipsis: "...", isASCII: true).clean("桜 né") == "?? n?")
  }
}
