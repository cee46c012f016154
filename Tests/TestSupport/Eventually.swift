// SPDX-License-Identifier: MIT
import Foundation

package struct NeverHappened: Error, CustomStringConvertible {
  package var description: String

  package init(description: String) { self.description = description }
}

/// Polls until the condition is true, less often the longer it takes; fails after half a minute, or
/// two minutes under a sanitizer.
package func eventually(
  _ what: @autoclosure () -> String, isolation: isolated (any Actor)? = #isolation,
  _ condition: () async throws -> Bool
) async throws {
  let start = ContinuousClock.now
  while try await !condition() {
    let waited = ContinuousClock.now - start
    guard waited < .seconds(TestSeed.isSanitized ? 120 : 30) else {
      throw NeverHappened(description: "It never happened: \(what())")
    }
    try await Task.sleep(for: min(max(.milliseconds(2), waited / 8), .milliseconds(20)))
  }
}

/// The seed of a test's random numbers: REFRAIN_SEED if set.
package enum TestSeed {
  package static func next() -> UInt64 {
    ProcessInfo.processInfo.environment["REFRAIN_SEED"].flatMap { UInt64($0) }
      ?? UInt64.random(in: 0..<1_000_000_000)
  }

  /// Whether this run has time for far more than a usual one.
  package static var isSoak: Bool { ProcessInfo.processInfo.environment["REFRAIN_SOAK"] == "1" }

  /// Returns the time limit of a suite that does much in a soak, or waits long: the usual one in
  /// minutes, an hour in a soak, and four times the usual one under a sanitizer.
  package static func minutes(_ usual: Int) -> Int {
    isSoak ? 60 : isSanitized ? usual * 4 : usual
  }

  /// Whether a sanitizer makes everything many times slower.
  package static var isSanitized: Bool {
    ["REFRAIN_THREAD_SANITIZER", "REFRAIN_ADDRESS_SANITIZER"].contains {
      ProcessInfo.processInfo.environment[$0] == "1"
    }
  }
}
