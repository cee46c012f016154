// SPDX-License-Identifier: MIT
import RefrainLocks

/// Runs one call at a time for each key, for any number of waiting tasks. A cancelled task stops
/// waiting; the last one to leave cancels the call without waiting for it.
///
/// All methods may be called from any thread.
final class JoinedCalls<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private typealias Continuation = CheckedContinuation<Value, any Error>

  private struct Call {
    var task: Task<Void, Never>
    var number: Int
    var waiters: [Int: Continuation] = [:]
  }

  private struct State {
    var running: [Key: Call] = [:]
    var nextNumber = 0

    mutating func makeNumber() -> Int {
      nextNumber += 1
      return nextNumber
    }
  }

  private let state = Mutex(State())

  init() {}

  /// Returns the result of the running call for the key, or of `call` if none is running.
  ///
  /// - Throws: the error of the call; `CancellationError`.
  func value(
    for key: Key, _ call: @Sendable @escaping () async throws -> Value
  ) async throws -> Value {
    let waiter = state.withLock { $0.makeNumber() }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isCancelled = state.withLock { state in
          // If it is cancelled later, `leave` finds it.
          if Task.isCancelled { return true }
          if state.running[key] == nil { state.running[key] = start(key, call, &state) }
          state.running[key]?.waiters[waiter] = continuation
          return false
        }
        if isCancelled { continuation.resume(throwing: CancellationError()) }
      }
    } onCancel: {
      leave(waiter, key)
    }
  }

  private func start(
    _ key: Key, _ call: @Sendable @escaping () async throws -> Value, _ state: inout State
  ) -> Call {
    let number = state.makeNumber()
    let task = Task {
      let result: Result<Value, any Error>
      do { result = .success(try await call()) } catch { result = .failure(error) }
      let waiters = self.state.withLock { state -> [Continuation] in
        // Another call may have begun after all tasks left this one.
        guard state.running[key]?.number == number else { return [] }
        return state.running.removeValue(forKey: key).map { Array($0.waiters.values) } ?? []
      }
      for waiter in waiters { waiter.resume(with: result) }
    }
    return Call(task: task, number: number)
  }

  private func leave(_ waiter: Int, _ key: Key) {
    let (continuation, abandoned) = state.withLock { state -> (Continuation?, Task<Void, Never>?) in
      guard let continuation = state.running[key]?.waiters.removeValue(forKey: waiter) else {
        return (nil, nil)
      }
      guard state.running[key]?.waiters.isEmpty == true else { return (continuation, nil) }
      return (continuation, state.running.removeValue(forKey: key)?.task)
    }
    abandoned?.cancel()
    continuation?.resume(throwing: CancellationError())
  }
}
