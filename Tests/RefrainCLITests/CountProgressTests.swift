// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainCLI

@Suite struct CountProgressTests {
  @Test func `Progress over many entries is shown after one second`() {
    var progress = CountProgress(verb: "Removed")
    #expect(
      progress.line(done: 4000, total: 20_000, after: .milliseconds(900), isInteractive: true)
        == nil)
    #expect(
      progress.line(done: 8000, total: 20_000, after: .seconds(1), isInteractive: true)
        == "Removed 8,000 of 20,000 entries")
    // A later report has overtaken this one.
    #expect(
      progress.line(done: 7999, total: 20_000, after: .seconds(1), isInteractive: true) == nil)
    // Completed items report themselves.
    #expect(
      progress.line(done: 20_000, total: 20_000, after: .seconds(3), isInteractive: true) == nil)
  }

  @Test func `Progress in a log is one line for each tenth`() {
    var progress = CountProgress(verb: "Checked")
    let lines = (1...1000).compactMap {
      progress.line(done: $0, total: 1000, after: .seconds(2), isInteractive: false)
    }
    #expect(lines.count == 10)
    #expect(lines.first == "Checked 1 of 1,000 entries")
    #expect(lines.last == "Checked 900 of 1,000 entries")
  }

  @Test func `Eviction progress is shown after one second without a pause`() {
    let start = ContinuousClock.now
    var progress = EvictionProgress()
    var lines: [String] = []
    for step in 0...150 {
      let now = start + .milliseconds(10 * step)
      lines += [progress.line(freed: 4096, at: now, isInteractive: true)].compactMap(\.self)
    }
    #expect(lines.count == 51)
    #expect(lines.first == "Making room: removed 101 entries, 404.0 KiB")
    #expect(progress.line(freed: 1, at: start + .seconds(3), isInteractive: true) == nil)
    #expect(
      progress.line(freed: 1, at: start + .seconds(4), isInteractive: true)
        == "Making room: removed 2 entries, 2 B")
  }

  @Test func `Eviction progress in a log is one line`() {
    let start = ContinuousClock.now
    var progress = EvictionProgress()
    let lines = (0...400).compactMap {
      progress.line(freed: 4096, at: start + .milliseconds(10 * $0), isInteractive: false)
    }
    #expect(lines.count == 1)
  }

  @Test(arguments: [
    (0, "0 entries"), (1, "1 entry"), (999, "999 entries"), (1000, "1,000 entries"),
    (1_234_567, "1,234,567 entries"),
  ])
  func `Numbers of entries are grouped by thousands`(_ count: Int, _ text: String) {
    #expect(CountText.entries(count) == text)
  }
}
