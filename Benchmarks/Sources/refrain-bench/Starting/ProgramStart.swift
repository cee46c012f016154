// SPDX-License-Identifier: MIT

/// The start of the program, and its end.
enum ProgramStart: Benchmark {
  static let name = "start"
  private static let rounds = 31

  private static let version = Row("refrain --version", .atMost(40), unit: "ms", digits: 1)
  static let rows = [version]

  static func run(_ report: Report) async throws {
    // The first one is for the system's caches.
    let times = try (0...rounds).map { _ in
      try Command.run(Program.refrain, ["--version"]).seconds * 1000
    }
    report.record(version, Array(times.dropFirst()))
  }
}
