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

  /// Returns `minimum – median – maximum`.
  static func spread(_ values: [Double], _ format: String = "%.2f") -> String {
    [values.min() ?? .nan, median(values), values.max() ?? .nan]
      .map { String(format: format, $0) }.joined(separator: " – ")
  }

  /// Returns the ratios of figures measured in the same rounds.
  static func ratios(_ values: [Double], to others: [Double]) -> [Double] {
    zip(values, others).map { $0 / $1 }
  }

  /// Returns the elements forwards in one round and backwards in the next: the first one finds less
  /// in the caches.
  static func inTurns<Element>(_ elements: [Element], _ round: Int) -> [(Int, Element)] {
    let turns = elements.enumerated().map { ($0.offset, $0.element) }
    return round.isMultiple(of: 2) ? turns : turns.reversed()
  }

  /// The load of the last minute: figures from a busy machine are less reliable.
  static var load: String {
    var loads = [0.0]
    return getloadavg(&loads, 1) == 1 ? String(format: "%.1f", loads[0]) : "unknown"
  }

  static func gibibytesPerSecond(_ bytes: Int64, _ seconds: Double) -> Double {
    Double(bytes) / seconds / Double(1 << 30)
  }

  /// The directory for all files: `REFRAIN_BENCH_DIR`, else /var/tmp.
  static let directory = URL(
    filePath: ProcessInfo.processInfo.environment["REFRAIN_BENCH_DIR"] ?? "/var/tmp")

  static func temporaryDirectory(_ name: String) -> URL {
    directory.appending(path: "refrain-bench-\(name)-\(getpid())")
  }

  /// Removes the files that this process has written, as far as possible.
  static func removeTemporaryDirectories() {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
    for name in names where name.hasPrefix("refrain-bench-") && name.hasSuffix("-\(getpid())") {
      try? FileManager.default.removeItem(at: directory.appending(path: name))
    }
  }
}
