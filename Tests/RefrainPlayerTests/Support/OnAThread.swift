// SPDX-License-Identifier: MIT
import Foundation

/// Runs `body` on a thread: libmpv's threads may block; those of Swift's concurrency may not.
func onAThread<Value: Sendable>(
  _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    Thread { continuation.resume(with: Result { try body() }) }.start()
  }
}
