// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// A command ended by a signal: its exit code is 128 plus the signal's number, as in shells.
struct Interrupted: Error {
  var signal: CInt
}

/// Runs `work`; SIGINT, SIGTERM and SIGQUIT (Ctrl-\) cancel it and wait for its end. A second
/// signal does not wait.
///
/// - Throws: `Interrupted` if a signal came, whatever the result of `work`.
func endingOnSignals(_ work: @escaping @Sendable () async throws -> Void) async throws {
  let caught = Caught()
  let ending = [SIGINT, SIGTERM, SIGQUIT]
  // Before the work begins: whoever has seen a sign of it may send one.
  SignalPipe.receive(ending) { number in
    if !caught.take(number) {
      #if os(Linux)
        TerminalGuard.restore()
      #endif
      Console.shared.clearAtOnce()
      _exit(128 + number)
    }
  }
  defer { SignalPipe.ignore(ending) }
  let task = Task { try await work() }
  caught.cancels(task)
  let result = await task.result
  if let number = caught.first { throw Interrupted(signal: number) }
  try result.get()
}

/// The first signal received, which cancels a task.
private final class Caught: Sendable {
  private struct State {
    var number: CInt?
    var task: Task<Void, any Error>?
  }

  private let state = Mutex(State())

  var first: CInt? { state.withLock(\.number) }

  /// Records a signal. Returns whether it is the first, which cancels the task.
  func take(_ signal: CInt) -> Bool {
    let (isFirst, task) = state.withLock { state in
      guard state.number == nil else { return (false, Task<Void, any Error>?.none) }
      state.number = signal
      return (true, state.task)
    }
    task?.cancel()
    return isFirst
  }

  /// Names the task, which is cancelled at once if a signal came before.
  func cancels(_ task: Task<Void, any Error>) {
    let isCaught = state.withLock { state in
      state.task = task
      return state.number != nil
    }
    if isCaught { task.cancel() }
  }
}
