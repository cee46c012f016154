// SPDX-License-Identifier: MIT
import Testing
import TestSupport

@testable import RefrainCLI

struct ScreenRendererTests {
  /// A screen of any model and size stays within its size, and contains no control character.
  @Test func `A screen of any model fits its size and has no control characters`() {
    let seed = TestSeed.next()
    var random = SeededGenerator(seed: seed)
    for _ in 0..<(TestSeed.isSoak ? 20_000 : 400) {
      let model = RandomScreen.model(&random)
      let size = ScreenSize(
        columns: Int.random(in: 1...140, using: &random),
        rows: Int.random(in: 1...50, using: &random))
      let style: BarStyle = Bool.random(using: &random) ? .blocks : .ascii
      let lines = ScreenRenderer(style).lines(model, size)
      let isWithin =
        lines.count <= size.rows
        && lines.allSatisfy { line in
          line.width <= size.columns
            && line.pieces.reduce(0) { $0 + $1.text.displayWidth } == line.width
        }
      #expect(isWithin, "seed \(seed), \(size)")
      let isPlain = lines.allSatisfy { line in
        line.text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
      }
      #expect(isPlain, "seed \(seed), \(size)")
      guard isWithin, isPlain else { return }
    }
  }

  @Test(arguments: [(0, 0), (0, 5), (5, 0), (-1, -1)])
  func `A screen without room has no lines`(_ columns: Int, _ rows: Int) {
    let size = ScreenSize(columns: columns, rows: rows)
    #expect(ScreenRenderer(.blocks).lines(ScreenSamples.cold, size).isEmpty)
  }

  @Test(arguments: 3...60)
  func `The title and the scrubber are always shown`(_ rows: Int) {
    for columns in [20, 40, 80, 200] {
      let lines = ScreenRenderer(.blocks).lines(
        ScreenSamples.halfCached, ScreenSize(columns: columns, rows: rows)
      ).map(\.text)
      #expect(lines.contains { $0.contains("A Long Way") })
      #expect(lines.contains { $0.contains("●") && $0.contains("━") && $0.contains("·") })
    }
  }

  @Test func `The selection stays visible`() throws {
    var model = ScreenSamples.cold
    model.queue.rows = (1...500).map {
      QueueList.Row(id: UInt64($0), number: $0, title: "song \($0)", isCurrent: $0 == 1)
    }
    for step in [250, 249, -499, 3] {
      model.queue.select(by: step)
      let selected = try #require(model.queue.selection)
      let lines = ScreenRenderer(.blocks).lines(model, ScreenSize(columns: 80, rows: 24))
      #expect(lines.contains { $0.text.contains("›") && $0.text.contains("\(selected.title) ") })
    }
  }

  @Test func `The scrubber shows the position and the state of each part`() {
    var model = ScreenModel()
    model.length = .known(.seconds(100))
    model.position = .seconds(35)
    model.map = CacheMap(cached: [0..<0.2, 0.3..<0.6], fetching: [0.6..<0.7])
    let line = ScreenRenderer(.blocks).scrubberLine(model, 22)
    // Ten cells: a part that is not stored shows before the position, too.
    #expect(line.text == "0:35  ━━·●──╌···  1:40")
  }

  @Test func `A buffered part is shown as coming even where it is not stored`() {
    let map = CacheMap(cached: [], fetching: [], buffered: [0..<0.5])
    #expect(map.cells(4) == [.coming, .coming, .missing, .missing])
    #expect(map.cells(0).isEmpty)
  }

  @Test func `A position at or beyond the end is shown in the last cell`() {
    var model = ScreenModel()
    model.length = .known(.seconds(100))
    model.position = .seconds(100)
    model.map = CacheMap(cached: [0..<1])
    #expect(ScreenRenderer(.blocks).scrubberLine(model, 22).text == "1:40  ━━━━━━━━━●  1:40")
    model.position = .seconds(500)
    #expect(ScreenRenderer(.blocks).scrubberLine(model, 22).text == "8:20  ━━━━━━━━━●  1:40")
  }

  @Test func `A resource that lacks one byte is shown as 99% stored`() {
    var model = ScreenSamples.warm
    model.storedBytes = (model.totalBytes ?? 0) - 1
    let lines = ScreenRenderer(.blocks).lines(model, ScreenSize(columns: 80, rows: 24))
    #expect(lines.contains { $0.text.contains("99% of 23.6 MiB stored") })
  }
}

/// Models with every kind of text in them.
enum RandomScreen {
  private static let bits = [
    "abc ", "桜の歌", "\u{1F338}", "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}", "\u{1F1EF}",
    "\u{1F1EF}\u{1F1F5}", "e\u{301}", "\u{301}", "\u{200B}", "\u{200D}", "\u{FE0F}",
    "\u{2764}\u{FE0F}",
    "\u{1B}[2J", "\r\n", "\u{7}", "\u{202E}", "\u{9B}1m", "한글", "\u{1160}", "नमस्ते", "سلام", "\u{AD}",
    "a" + String(repeating: "\u{301}", count: 40), "word ", " ", "\t", "https://h/",
    "1\u{FE0F}\u{20E3}",
  ]

  static func text(_ random: inout SeededGenerator) -> String {
    (0..<Int.random(in: 0...20, using: &random))
      .map { _ in bits.randomElement(using: &random) ?? "" }.joined()
  }

  static func model(_ random: inout SeededGenerator) -> ScreenModel {
    var model = ScreenModel()
    let (one, two) = (text(&random), text(&random))
    let statuses: [ScreenModel.Status] = [
      .idle, .loading, .playing, .paused, .ended, .buffering(.bytes), .buffering(.seek),
      .buffering(.network(one)), .failed(reason: one, remedy: two),
    ]
    model.status = statuses.randomElement(using: &random) ?? .idle
    model.title = text(&random)
    model.details = Bool.random(using: &random) ? [text(&random), text(&random)] : []
    model.address = Bool.random(using: &random) ? text(&random) : nil
    model.position = .seconds(Int.random(in: 0...1_000_000, using: &random))
    model.length =
      [.unknown, .live, .known(.seconds(Int.random(in: 0...1_000_000, using: &random)))]
      .randomElement(using: &random) ?? .live
    model.map = CacheMap(
      cached: ranges(&random), fetching: ranges(&random), buffered: ranges(&random))
    model.storedBytes =
      Bool.random(using: &random) ? Int64.random(in: 0...(.max), using: &random) : nil
    model.totalBytes =
      Bool.random(using: &random) ? Int64.random(in: 0...(.max), using: &random) : nil
    model.speed = Bool.random(using: &random) ? Double.random(in: 0...1e12, using: &random) : nil
    model.hitRatio = Bool.random(using: &random) ? Double.random(in: 0...1, using: &random) : nil
    model.requests = Int.random(in: 0...1_000_000, using: &random)
    model.isOffline = Bool.random(using: &random)
    model.volume = Double.random(in: 0...1, using: &random)
    model.isMuted = Bool.random(using: &random)
    model.rate = Double.random(in: 0.5...3, using: &random)
    model.sleepTimer =
      [nil, .endOfItem, .left(.seconds(70_000))].randomElement(using: &random) ?? nil
    let current = Int.random(in: 0...60, using: &random)
    model.queue.rows = (0..<Int.random(in: 0...60, using: &random)).map { index in
      QueueList.Row(
        id: UInt64(index), number: index + 1, title: text(&random),
        artist: Bool.random(using: &random) ? text(&random) : nil,
        duration: Bool.random(using: &random)
          ? .seconds(Int.random(in: 0...1_000_000, using: &random)) : nil,
        isCurrent: index == current, hasFailed: Bool.random(using: &random),
        cached: Bool.random(using: &random) ? Double.random(in: 0...1, using: &random) : nil)
    }
    if Bool.random(using: &random) {
      model.queue.select(by: Int.random(in: -70...70, using: &random))
    }
    if Bool.random(using: &random) {
      model.queue.beginFilter()
      model.queue.type(text(&random))
    }
    model.messages = (0..<Int.random(in: 0...8, using: &random)).map { _ in
      .init(
        text: text(&random),
        level: [.note, .warning, .error].randomElement(using: &random) ?? .note)
    }
    model.isHelpVisible = Int.random(in: 0..<8, using: &random) == 0
    return model
  }

  private static func ranges(_ random: inout SeededGenerator) -> [Range<Double>] {
    (0..<Int.random(in: 0...3, using: &random)).map { _ in
      let start = Double.random(in: 0...1, using: &random)
      return start..<Double.random(in: start...1, using: &random)
    }
  }
}
