// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainCLI

/// The value of `--rewind`.
struct RewindArgumentTests {
  @Test(
    arguments: [
      ("2h", 7200), ("30m", 1800), ("90s", 90), ("1:30:00", 5400), ("600", 600), ("10", 10),
    ] as [(String, Int)])
  func `A duration has a unit, or is written as a position`(_ text: String, _ seconds: Int) throws {
    #expect(try RewindArgument.parse(text) == .seconds(seconds))
  }

  @Test(arguments: ["", "h", "-2h", "2 h", "2d", "1.5h", "9", "0", "99999999h", "1:60"])
  func `Other values and less than ten seconds are refused`(_ text: String) {
    #expect(throws: InvalidArgument.self) { try RewindArgument.parse(text) }
  }
}
