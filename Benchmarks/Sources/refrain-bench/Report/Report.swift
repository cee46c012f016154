// SPDX-License-Identifier: MIT
import Foundation
import Synchronization

/// Records the figure of each row, prints it at once, and prints all of them at the end.
final class Report: Sendable {
  private enum Outcome {
    case measured([Double])
    case notMeasured(String)
  }

  private let outcomes = Mutex<[(row: Row, outcome: Outcome)]>([])

  /// - Parameter samples: one figure for each round; the median is judged.
  func record(_ row: Row, _ samples: [Double]) {
    guard !samples.isEmpty, samples.allSatisfy(\.isFinite) else {
      return record(row, notMeasured: "no figures")
    }
    add(row, .measured(samples))
  }

  func record(_ row: Row, _ figure: Double) { record(row, [figure]) }

  func record(_ row: Row, notMeasured reason: String) { add(row, .notMeasured(reason)) }

  /// Calls `body`, and records the error for rows that it left without a figure.
  func attempt(
    _ rows: [Row], isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Void
  ) async {
    var reason = "the benchmark has left it out"
    do {
      try await body()
    } catch {
      reason = "\(error)".split(separator: "\n").joined(separator: " ")
    }
    let known = outcomes.withLock { Set($0.map(\.row)) }
    for row in rows where !known.contains(row) { record(row, notMeasured: reason) }
  }

  /// Prints a line that is not judged.
  func note(_ text: String) {
    // Unlike print(), this reaches a file or a pipe at once.
    try? FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8))
  }

  private func add(_ row: Row, _ outcome: Outcome) {
    outcomes.withLock { $0.append((row, outcome)) }
    note(
      [row.name + ":", Self.figure(row, outcome), Self.goal(row), Self.verdict(row, outcome)]
        .filter { !$0.isEmpty }.joined(separator: "  "))
  }

  /// Prints all rows.
  ///
  /// - Returns: whether each was measured and met its goal.
  func close() -> Bool {
    let lines = outcomes.withLock { outcomes in
      outcomes.map { row, outcome in
        [row.name, Self.figure(row, outcome), Self.goal(row), Self.verdict(row, outcome)]
      }
    }
    let widths = (0..<3).map { column in lines.map { $0[column].count }.max() ?? 0 }
    note("")
    for line in lines {
      let cells = zip(line, widths).map { cell, width in
        cell + String(repeating: " ", count: width - cell.count)
      }
      note((cells + [line[3]]).joined(separator: "  "))
    }
    let failed = lines.count { $0[3] != "ok" && !$0[3].isEmpty }
    note("")
    note(
      "\(lines.count) rows; "
        + (failed == 0 ? "all goals are met" : "\(failed) missed or not measured"))
    return failed == 0
  }

  // MARK: Text

  private static func figure(_ row: Row, _ outcome: Outcome) -> String {
    guard case .measured(let samples) = outcome else { return "" }
    let figures =
      samples.count == 1
      ? row.text(samples[0])
      : [samples.min() ?? .nan, Measure.median(samples), samples.max() ?? .nan]
        .map(row.text).joined(separator: " – ")
    return row.unit.isEmpty ? figures : figures + " " + row.unit
  }

  private static func goal(_ row: Row) -> String {
    guard let goal = row.goal else { return "" }
    return row.unit.isEmpty ? "\(goal)" : "\(goal) \(row.unit)"
  }

  /// Returns an empty text if there is nothing to judge.
  private static func verdict(_ row: Row, _ outcome: Outcome) -> String {
    switch outcome {
    case .notMeasured(let reason): return "not measured: \(reason)"
    case .measured(let samples):
      guard let goal = row.goal else { return "" }
      return goal.isMet(by: Measure.median(samples)) ? "ok" : "MISSED"
    }
  }
}
