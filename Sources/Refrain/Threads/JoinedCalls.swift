// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// Runs one call at a time for each key, for any number of waiting tasks. A cancelled task stops
/// waiting; the last one to leave cancels the call without waiting for it.
final class JoinedCalls<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private typealias Waiter = AsyncThrowingStream<Value, any Error>.Continuation

  private struct Call {
    /// Of its first waiter: another call may begin for the key after all tasks left this one.
    var id: UUID
    var task: Task<Void, Never>
    var waiters: [UUID: Waiter] = [:]
  }

  private let calls = Mutex<[Key: Call]>([:])

  init() {}

  /// Returns the result of the running call for the key, or of `call` if none is running.
  func value(
    for key: Key, _ call: @Sendable @escaping () async throws -> Value
  ) async throws -> Value {
    try Task.checkCancellation()
    let (result, waiter) = AsyncThrowingStream<Value, any Error>.makeStream()
    let id = UUID()
    calls.withLock { calls in
      calls[key, default: Call(id: id, task: start(key, id, call))].waiters[id] = waiter
    }
    waiter.onTermination = { [self] _ in leave(id, key) }
    for try await value in result { return value }
    throw CancellationError()
  }

  private func start(
    _ key: Key, _ id: UUID, _ call: @Sendable @escaping () async throws -> Value
  ) -> Task<Void, Never> {
    Task {
      let result: Result<Value, any Error>
      do { result = .success(try await call()) } catch { result = .failure(error) }
      let ended = calls.withLock { $0[key]?.id == id ? $0.removeValue(forKey: key) : nil }
      for waiter in (ended?.waiters ?? [:]).values {
        waiter.yield(with: result)
        waiter.finish()
      }
    }
  }

  /// Called when a waiter is cancelled; also after its result, without effect.
  private func leave(_ waiter: UUID, _ key: Key) {
    let abandoned = calls.withLock { calls -> Task<Void, Never>? in
      guard calls[key]?.waiters.removeValue(forKey: waiter) != nil,
        calls[key]?.waiters.isEmpty == true
      else { return nil }
      return calls.removeValue(forKey: key)?.task
    }
    abandoned?.cancel()
  }
}
