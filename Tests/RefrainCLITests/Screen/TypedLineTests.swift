// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainCLI

/// A position, and additions to the queue, that are typed in the screen.
struct TypedLineTests {
  private func typed(_ text: String) -> TypedLine {
    var time = TypedLine(.time)
    time.type(text)
    return time
  }

  @Test(
    arguments: [
      ("90", 90), ("1:30", 90), ("1:02:03", 3723), ("0", 0), (" 2:0 5 min", 125), ("59.5", 59.5),
    ] as [(String, Double)])
  func `A typed time leads to its position`(_ text: String, _ seconds: Double) {
    #expect(typed(text).target(in: .seconds(7200)) == .position(.seconds(seconds)))
    #expect(typed(text).target(in: nil) == .position(.seconds(seconds)))
  }

  @Test func `What is no position in the item is refused with the reason`() {
    for text in ["1:", ":", "1:60", "1.5:00", "1:2:3:4"] {
      #expect(
        typed(text).target(in: nil)
          == .refused("\(text) is not a position. Type seconds, or as in 1:30."))
    }
    #expect(typed("2:00").target(in: .seconds(120)) == .refused("The item lasts 2:00."))
    #expect(typed("").target(in: nil) == nil)
  }

  @Test func `A time after a minus counts back from the newest live sound`() {
    #expect(typed("-8:00").target(in: nil, live: .seconds(600)) == .position(.seconds(120)))
    #expect(typed("-8:00").target(in: nil, live: .seconds(60)) == .position(.zero))
    #expect(
      typed("-8:00").target(in: .seconds(7200))
        == .refused("Only live sound that is kept (--rewind) counts back from its end."))
    #expect(
      typed("1-2").target(in: nil)
        == .refused("1-2 is not a position. Type seconds, or as in 1:30."))
  }

  @Test func `Only digits, colons, points and a minus are typed, and no endless text`() {
    #expect(typed("a1x:\u{0661}2\n").text == "1:2" && typed("-1").text == "-1")
    #expect(typed(String(repeating: "1", count: 1000)).text.count == 12)
    var time = typed("12")
    #expect(time.untype() && time.text == "1")
    #expect(time.untype() && !time.untype())
  }

  @Test(
    arguments: [
      ("5", .typeLine("5")), (":", .typeLine(":")), ("q", .typeLine("q")), ("\u{7F}", .untypeLine),
      ("\u{1B}", .endLine), ("\r", .enterLine), ("\u{15}", .clearLine), ("\u{3}", .quit),
      ("\u{1A}", .suspend), ("\u{1B}[200~1:30\u{1B}[201~", .typeLine("1:30")),
    ] as [(String, ScreenAction)])
  func `Keys edit the time while it is typed`(_ bytes: String, _ action: ScreenAction) {
    var parser = KeyParser()
    let keys = parser.feed(Array(bytes.utf8)) + parser.flush()
    #expect(keys.compactMap { ScreenAction($0, isTyping: true) } == [action])
  }

  @Test(
    arguments: [
      ("a.ogg", ["a.ogg"]), ("  a b.ogg \n", ["a b.ogg"]),
      ("'/music/a b.ogg' ", ["/music/a b.ogg"]),
      ("\"a\"", ["a"]), ("'", ["'"]), ("~/Music", ["/home/me/Music"]), ("~", ["/home/me"]),
      ("~you/a", ["~you/a"]), ("a~/b", ["a~/b"]), ("", []),
    ] as [(String, [String])])
  func `Typed paths are read as a shell would`(_ text: String, _ expected: [String]) {
    var line = TypedLine(.addition)
    line.type(text)
    #expect(line.arguments(home: "/home/me") == expected)
  }

  @Test func `A long addition shows its end, in any width`() {
    #expect(ScreenAction(Key("A")) == .beginAddition)
    #expect(ScreenAction(windowKey: "A") == nil)
    var model = ScreenSamples.halfCached
    var line = TypedLine(.addition)
    line.type(String(repeating: "桜/", count: 40_000) + "the\nend\u{1B}")
    model.typedLine = line
    #expect(line.text.count == 64 << 10)
    for size in GoldenScreenTests.sizes + [ScreenSize(columns: 20, rows: 3)] {
      let lines = ScreenRenderer(.blocks).lines(model, size)
      #expect(lines.contains { $0.text.contains("Add ") })
      #expect(lines.allSatisfy { $0.width <= size.columns })
    }
    line.clear()
    line.type("one\nhttps://example.org/the/end.ogg")
    model.typedLine = line
    let lines = ScreenRenderer(.blocks).lines(model, ScreenSize(columns: 20, rows: 12))
    #expect(lines.contains { $0.text.contains("end.ogg▏") && $0.width <= 20 })
  }

  #if os(Linux)
    @Test @MainActor func `Typing ends with a position, Escape, or the last deletion`() {
      var model = ScreenModel()
      func perform(_ actions: ScreenAction...) -> [TypedLineEffect] {
        actions.map { model.perform(typing: $0, on: nil) }.filter { $0 != .none }
      }
      #expect(perform(.beginTime, .typeLine("1"), .typeLine(":")) == [])
      #expect(perform(.enterLine).count == 1 && model.typedLine != nil)
      #expect(perform(.typeLine("30"), .enterLine) == [] && model.typedLine == nil)
      #expect(perform(.beginTime, .endLine) == [] && model.typedLine == nil)
      #expect(perform(.beginTime, .typeLine("1"), .untypeLine) == [] && model.typedLine != nil)
      #expect(perform(.untypeLine) == [] && model.typedLine == nil)
      #expect(perform(.beginTime, .enterLine) == [] && model.typedLine == nil)
    }

    @Test @MainActor func `Enter adds what was typed or pasted, Escape nothing`() {
      var model = ScreenModel()
      func perform(_ actions: ScreenAction...) -> [TypedLineEffect] {
        actions.map { model.perform(typing: $0, on: nil) }.filter { $0 != .none }
      }
      #expect(
        perform(.beginAddition, .typeLine("a b.ogg"), .enterLine) == [.add(["a b.ogg"])])
      #expect(model.typedLine == nil)
      #expect(perform(.beginAddition, .typeLine("a"), .endLine, .enterLine) == [])
      #expect(perform(.beginAddition, .typeLine("  \r\n "), .enterLine) == [])
      #expect(
        perform(.beginAddition, .typeLine("https://h/a\rb.m3u\r\n\nc"), .enterLine)
          == [.add(["https://h/a", "b.m3u", "c"])])
    }
  #endif
}
