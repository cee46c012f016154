// SPDX-License-Identifier: MIT
import Foundation

/// Runs blocking work on a thread of its own: away from the threads that tests run on, of which
/// there is one per core, and from those of the caches under test.
package func onThread<Value: Sendable>(
  _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
  }
}
