// SPDX-License-Identifier: MIT

/// Measures the start and the end of the program.
enum ProgramStart: Benchmark {
  static let name = "start"
  private static let rounds = 31

  private static let version = Row("refrain --version", .atMost(40), unit: "ms", digits: 1)
  static let rows = [version]

  static func run(_ report: Report) async throws {
    // The first run fills the system's caches.
    let times = try (0...rounds).map { _ in
      try Command.run(Program.refrain, ["--version"]).seconds * 1000
    }
    report.record(version, Array(times.dropFirst()))
  }
}
