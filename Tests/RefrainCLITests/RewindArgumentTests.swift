// SPDX-License-Identifier: MIT
#if os(Linux)
  import Testing

  @testable import RefrainCLI

  /// The value of `--rewind`.
  struct RewindArgumentTests {
    @Test(
      arguments: [
        ("2h", 7200), ("30m", 1800), ("90s", 90), ("1:30:00", 5400), ("600", 600), ("30", 30),
      ] as [(String, Int64)])
    func `A time has a unit, or is written as a position`(_ text: String, _ seconds: Int64) throws {
      #expect(try RewindArgument.parse(text) == seconds * (40 << 10))
    }

    @Test(
      arguments: [
        ("64MiB", 64 << 20), ("64M", 64 << 20), ("1.5G", 3 << 29), ("10MB", 10_000_000),
        ("1MiB", 1 << 20),
      ] as [(String, Int64)])
    func `A size has a unit in capitals`(_ text: String, _ bytes: Int64) throws {
      #expect(try RewindArgument.parse(text) == bytes)
    }

    @Test(
      arguments: [
        "", "h", "-2h", "2 h", "2d", "1.5h", "9", "0", "99999999h", "1:60", "64mib", "1023K", "M",
      ])
    func `Other values and less than a mebibyte are refused`(_ text: String) {
      #expect(throws: InvalidArgument.self) { try RewindArgument.parse(text) }
    }
  }
#endif
