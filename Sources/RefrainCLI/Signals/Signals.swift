// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

#if canImport(Darwin)
  import Darwin
#endif

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

/// Passes signals to closures, in order, on a thread of its own.
///
/// The handler writes to a pipe, which signal-safety(7) permits, and no signal is lost. Dispatch's
/// sources occasionally lose a signal on Linux: one program in a hundred did not end.
enum SignalPipe {
  private struct Receiver: Sendable {
    let receive: @Sendable (CInt) -> Void
  }

  private static let receivers = Mutex<[CInt: Receiver]>([:])

  /// The descriptor that the handler writes to; -1 until the pipe exists. It stays open for the
  /// process's lifetime: a handler may be about to write to it at any time.
  private static let writing = Atomic<CInt>(-1)

  /// Passes each of these signals to `body` from now on, which returns at once.
  ///
  /// - Returns: false if the system has no descriptor left: the signals act as before.
  @discardableResult
  static func receive(
    _ numbers: [CInt], _ body: @escaping @Sendable (CInt) -> Void
  ) -> Bool {
    receivers.withLock { receivers in
      for number in numbers { receivers[number] = Receiver(receive: body) }
    }
    if writing.load(ordering: .sequentiallyConsistent) < 0 {
      guard let reading = open() else { return false }
      Thread.detachNewThread { forward(from: reading) }
    }
    for number in numbers { handle(number) }
    return true
  }

  /// Ignores signals from now on.
  static func ignore(_ numbers: [CInt]) {
    receivers.withLock { receivers in
      for number in numbers { receivers[number] = nil }
    }
  }

  /// Creates the pipe. Returns the end to read from.
  private static func open() -> CInt? {
    var ends: [CInt] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    // A handler never waits: a full pipe already holds enough signals.
    _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
    writing.store(ends[1], ordering: .sequentiallyConsistent)
    return ends[0]
  }

  private static func forward(from file: CInt) {
    var byte: UInt8 = 0
    while true {
      let count = read(file, &byte, 1)
      if count == 1 {
        let number = CInt(byte)
        receivers.withLock { $0[number] }?.receive(number)
      } else if count == 0 || errno != EINTR {
        return
      }
    }
  }

  private static func handle(_ number: CInt) {
    let handler: @convention(c) (CInt) -> Void = { number in
      let saved = errno
      var byte = UInt8(truncatingIfNeeded: number)
      _ = write(SignalPipe.writing.load(ordering: .sequentiallyConsistent), &byte, 1)
      errno = saved
    }
    var action = sigaction()
    #if canImport(Darwin)
      action.__sigaction_u.__sa_handler = handler
    #else
      action.__sigaction_handler.sa_handler = handler
    #endif
    action.sa_flags = CInt(SA_RESTART)
    sigaction(number, &action, nil)
  }
}
