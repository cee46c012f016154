// SPDX-License-Identifier: MIT
import RefrainLocks

/// Runs one call at a time for each key, for any number of waiting tasks. A cancelled task stops
/// waiting; the last one to leave cancels the call without waiting for it.
///
/// All methods may be called from any thread.
final class JoinedCalls<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private typealias Waiter = AsyncThrowingStream<Value, any Error>.Continuation

  private struct Call {
    /// Distinguishes it from the next call, which may begin after all tasks left this one.
    var number: Int
    var task: Task<Void, Never>
    var waiters: [Int: Waiter] = [:]
  }

  private struct State {
    var running: [Key: Call] = [:]
    var lastNumber = 0
  }

  private let state = Mutex(State())

  init() {}

  /// Returns the result of the running call for the key, or of `call` if none is running.
  ///
  /// - Throws: the error of the call; `CancellationError`.
  func value(
    for key: Key, _ call: @Sendable @escaping () async throws -> Value
  ) async throws -> Value {
    try Task.checkCancellation()
    let (result, waiter) = AsyncThrowingStream<Value, any Error>.makeStream()
    let number = state.withLock { state in
      state.lastNumber += 1
      let number = state.lastNumber
      if state.running[key] == nil {
        state.running[key] = Call(number: number, task: start(key, number, call))
      }
      state.running[key]?.waiters[number] = waiter
      return number
    }
    waiter.onTermination = { [self] _ in leave(number, key) }
    for try await value in result { return value }
    throw CancellationError()
  }

  private func start(
    _ key: Key, _ number: Int, _ call: @Sendable @escaping () async throws -> Value
  ) -> Task<Void, Never> {
    Task {
      let result: Result<Value, any Error>
      do { result = .success(try await call()) } catch { result = .failure(error) }
      let ended = state.withLock { state in
        state.running[key]?.number == number ? state.running.removeValue(forKey: key) : nil
      }
      for waiter in (ended?.waiters ?? [:]).values {
        waiter.yield(with: result)
        waiter.finish()
      }
    }
  }

  /// Called when a waiting task is cancelled; also after its result, without effect.
  private func leave(_ waiter: Int, _ key: Key) {
    let abandoned = state.withLock { state -> Task<Void, Never>? in
      guard state.running[key]?.waiters.removeValue(forKey: waiter) != nil,
        state.running[key]?.waiters.isEmpty == true
      else { return nil }
      return state.running.removeValue(forKey: key)?.task
    }
    abandoned?.cancel()
  }
}
