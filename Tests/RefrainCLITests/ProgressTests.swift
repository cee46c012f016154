// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainCLI

struct ProgressLineTests {
  private let half = line("song.flac", 12 << 20, of: 24 << 20, 4_194_304, .seconds(3))

  private static func line(
    _ name: String, _ done: Int64, of total: Int64?, _ bytesPerSecond: Double,
    _ timeLeft: Duration? = nil
  ) -> ProgressLine {
    var line = ProgressLine(name: name, done: done, total: total)
    (line.bytesPerSecond, line.timeLeft) = (bytesPerSecond, timeLeft)
    return line
  }

  @Test func `A wide bar shows every detail`() {
    #expect(
      half.bar(width: 100, style: .blocks)
        == "song.flac  ████████████████░░░░░░░░░░░░░░░░   50%  12.0 MiB of 24.0 MiB  4.0 MiB/s  "
        + "0:03 left")
  }

  @Test func `The bar is pure ASCII without UTF-8`() {
    let line = half.bar(width: 100, style: .ascii)
    #expect(line.contains("[###############...............]"))
    #expect(line.allSatisfy { $0.isASCII })
  }

  @Test(arguments: 1...120)
  func `The bar never exceeds the width`(_ width: Int) {
    let long = Self.line(
      "a very long name of a very long song by a very long band.flac", 1, of: 1 << 40, 1,
      .seconds(1))
    for line in [half, long, ProgressLine(name: "x", done: 5, total: nil)] {
      #expect(line.bar(width: width, style: .blocks).count <= width)
    }
  }

  @Test func `A narrow bar keeps the percentage`() {
    #expect(half.bar(width: 8, style: .blocks).contains("50%"))
  }

  @Test func `The percentage is 100 only when no byte is missing`() {
    #expect(ProgressLine(name: "x", done: (1 << 40) - 1, total: 1 << 40).percent == 99)
    #expect(ProgressLine(name: "x", done: 1 << 40, total: 1 << 40).percent == 100)
    #expect(ProgressLine(name: "x", done: 0, total: 0).percent == 100)
    #expect(ProgressLine(name: "x", done: 9, total: nil).percent == nil)
  }

  @Test func `A resource of unknown length shows bytes and no bar`() {
    let line = Self.line("radio", 3 << 20, of: nil, 1_048_576)
    #expect(line.bar(width: 80, style: .blocks) == "radio  3.0 MiB  1.0 MiB/s")
    #expect(line.plain == "radio: 3.0 MiB")
  }

  @Test func `The plain line shows name, percentage and size`() {
    #expect(half.plain == "song.flac: 50% of 24.0 MiB")
  }

  @Test func `A plain line is due once for each tenth`() {
    var plain = PlainProgress()
    var due: [Int] = []
    for percent in [0, 3, 10, 11, 19, 47, 49, 50, 100, 100] {
      if plain.isDue(percent: percent) { due.append(percent) }
    }
    #expect(due == [0, 10, 47, 50, 100])
    let isDueWithoutPercent = plain.isDue(percent: nil)
    #expect(!isDueWithoutPercent)
  }
}

struct SpeedTests {
  @Test func `A steady speed is measured correctly`() {
    var speed = Speed()
    for step in 0...50 {
      speed.note(bytes: Int64(step) * 1000, at: .milliseconds(100 * step))
    }
    #expect(abs((speed.bytesPerSecond ?? 0) - 10_000) < 1)
    #expect(speed.timeLeft(for: 25_000) == .seconds(3))
  }

  @Test func `A burst is smoothed`() {
    var speed = Speed()
    for step in 0...50 { speed.note(bytes: Int64(step) * 1000, at: .milliseconds(100 * step)) }
    speed.note(bytes: 150_000, at: .milliseconds(5100))
    #expect((speed.bytesPerSecond ?? 0) < 50_000)
  }

  @Test func `The speed is unknown at the start`() {
    var speed = Speed()
    #expect(speed.timeLeft(for: 1) == nil)
    speed.note(bytes: 0, at: .zero)
    #expect(speed.bytesPerSecond == nil)
    speed.note(bytes: 0, at: .seconds(1))
    #expect(speed.timeLeft(for: 1) == nil)
  }
}
