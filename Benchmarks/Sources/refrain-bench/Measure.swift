// SPDX-License-Identifier: MIT
import Foundation

enum Measure {
  static func seconds(_ body: () async throws -> Void) async rethrows -> Double {
    let start = ContinuousClock.now
    try await body()
    let (seconds, attoseconds) = (ContinuousClock.now - start).components
    return Double(seconds) + Double(attoseconds) / 1e18
  }

  static func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? .nan : sorted[sorted.count / 2]
  }

  /// `minimum – median – maximum`
  static func spread(_ values: [Double], _ format: String = "%.2f") -> String {
    [values.min() ?? .nan, median(values), values.max() ?? .nan]
      .map { String(format: format, $0) }.joined(separator: " – ")
  }

  /// Forwards in one round and backwards in the next: who comes first finds less in the caches.
  static func inTurns<Element>(_ elements: [Element], _ round: Int) -> [(Int, Element)] {
    let turns = elements.enumerated().map { ($0.offset, $0.element) }
    return round.isMultiple(of: 2) ? turns : turns.reversed()
  }

  static func gibibytesPerSecond(_ bytes: Int64, _ seconds: Double) -> Double {
    Double(bytes) / seconds / Double(1 << 30)
  }

  static func temporaryDirectory(_ name: String) -> URL {
    let base = ProcessInfo.processInfo.environment["REFRAIN_BENCH_DIR"] ?? "/var/tmp"
    return URL(filePath: base).appending(path: "refrain-bench-\(name)-\(getpid())")
  }

  /// Kilobytes of a line of /proc/self/status (proc(5)).
  static func status(_ key: String) -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix(key + ":") } ?? ""
    return Int(line.split(whereSeparator: { !$0.isNumber }).first ?? "0") ?? 0
  }

  /// Starts the peak of memory use anew (proc(5), clear_refs).
  static func resetPeak() {
    try? "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
  }
}
