// SPDX-License-Identifier: MIT
import Foundation

/// Runs blocking work on a thread of its own: away from the threads that tests run on, and from
/// those of the caches under test.
package enum OnAThread {
  package static func run<Result: Sendable>(
    _ work: @escaping () throws -> Result
  ) async throws -> Result {
    let work = Unchecked(work)
    return try await withCheckedThrowingContinuation {
      (done: CheckedContinuation<Result, any Error>) in
      Thread.detachNewThread { done.resume(with: Swift.Result { try work.value() }) }
    }
  }

  /// Unchecked: one thread after the other uses it.
  private struct Unchecked<Result>: @unchecked Sendable {
    let value: () throws -> Result
    init(_ value: @escaping () throws -> Result) { self.value = value }
  }
}
