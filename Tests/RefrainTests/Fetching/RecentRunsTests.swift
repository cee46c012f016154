// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain

@Suite struct RecentRunsTests {
  @Test func `Fewer than four runs give no usual length`() {
    var runs = RecentRuns()
    for _ in 0..<3 {
      runs.note(1000)
      #expect(runs.usual == nil)
    }
    runs.note(1000)
    #expect(runs.usual == 1000)
  }

  @Test func `The usual length is the longest of the latest eight runs`() {
    var runs = RecentRuns()
    runs.note(9000)
    for length in 1...7 { runs.note(Int64(length) * 100) }
    #expect(runs.usual == 9000)
    runs.note(5)
    #expect(runs.usual == 700)
  }

  @Test func `Empty runs give no usual length`() {
    var runs = RecentRuns()
    for _ in 0..<8 { runs.note(0) }
    #expect(runs.usual == nil)
  }
}
