// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainCLI

/// A position that is typed in the screen.
struct TypedTimeTests {
  private func typed(_ text: String) -> TypedTime {
    var time = TypedTime()
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

  @Test func `Only digits, colons and points are typed, and no endless text`() {
    #expect(typed("a1x:\u{0661}2\n").text == "1:2")
    #expect(typed(String(repeating: "1", count: 1000)).text.count == 12)
    var time = typed("12")
    #expect(time.untype() && time.text == "1")
    #expect(time.untype() && !time.untype())
  }

  @Test(
    arguments: [
      ("5", .typeTime("5")), (":", .typeTime(":")), ("q", .typeTime("q")), ("\u{7F}", .untypeTime),
      ("\u{1B}", .endTime), ("\r", .seekToTime), ("\u{15}", .clearTime), ("\u{3}", .quit),
      ("\u{1A}", .suspend), ("\u{1B}[200~1:30\u{1B}[201~", .typeTime("1:30")),
    ] as [(String, ScreenAction)])
  func `Keys edit the time while it is typed`(_ bytes: String, _ action: ScreenAction) {
    var parser = KeyParser()
    let keys = parser.feed(Array(bytes.utf8)) + parser.flush()
    #expect(keys.compactMap { ScreenAction($0, isTypingTime: true) } == [action])
  }

  @Test func `A colon begins to type a time, and the time is shown`() {
    #expect(ScreenAction(Key(":")) == .beginTime)
    var model = ScreenSamples.halfCached
    model.typedTime = typed("1:23")
    for size in GoldenScreenTests.sizes + [ScreenSize(columns: 20, rows: 3)] {
      let lines = ScreenRenderer(.blocks).lines(model, size)
      #expect(lines.contains { $0.text.contains("Go to 1:23") })
      #expect(lines.allSatisfy { $0.width <= size.columns })
    }
    #expect(ScreenRenderer(.blocks).timeLine(typed("1:23"), 3).width <= 3)
  }

  #if os(Linux)
    @Test @MainActor func `Typing ends with a position, Escape, or the last deletion`() {
      var model = ScreenModel()
      func perform(_ actions: ScreenAction...) -> [String] {
        actions.compactMap { model.perform(typing: $0, on: nil) }
      }
      #expect(perform(.beginTime, .typeTime("1"), .typeTime(":")) == [])
      #expect(perform(.seekToTime).count == 1 && model.typedTime != nil)
      #expect(perform(.typeTime("30"), .seekToTime) == [] && model.typedTime == nil)
      #expect(perform(.beginTime, .endTime) == [] && model.typedTime == nil)
      #expect(perform(.beginTime, .typeTime("1"), .untypeTime) == [] && model.typedTime != nil)
      #expect(perform(.untypeTime) == [] && model.typedTime == nil)
      #expect(perform(.beginTime, .seekToTime) == [] && model.typedTime == nil)
    }
  #endif
}
