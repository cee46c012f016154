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
  let task = Task { try await work() }
  let caught = Caught()
  EndingSignals.receive { number in
    if caught.isFirst(number) {
      task.cancel()
    } else {
      #if os(Linux)
        TerminalGuard.restore()
      #endif
      Console.shared.clear()
      _exit(128 + number)
    }
  }
  defer { EndingSignals.ignore() }
  let result = await task.result
  if let number = caught.first { throw Interrupted(signal: number) }
  try result.get()
}

/// The first signal received.
private final class Caught: Sendable {
  private let number = Mutex<CInt?>(nil)

  var first: CInt? { number.withLock { $0 } }

  func isFirst(_ signal: CInt) -> Bool {
    number.withLock { number in
      guard number == nil else { return false }
      number = signal
      return true
    }
  }
}

/// Passes signals that ask a program to end to a closure, on their own thread.
///
/// The handler writes to a pipe, which signal-safety(7) permits, and no signal is lost. Dispatch's
/// sources occasionally lose a signal on Linux: one program in a hundred did not end.
private enum EndingSignals {
  private static let receiver = Mutex<Receiver?>(nil)

  private struct Receiver: Sendable {
    let receive: @Sendable (CInt) -> Void
  }

  /// The descriptor that the handler writes to; -1 until the pipe exists. It stays open for the
  /// process's lifetime: a handler may be about to write to it at any time.
  private static let writing = Atomic<CInt>(-1)

  /// Passes each signal to `body` from now on, in order. If the system has no descriptor left,
  /// signals end the program as they do by default.
  static func receive(_ body: @escaping @Sendable (CInt) -> Void) {
    receiver.withLock { $0 = Receiver(receive: body) }
    if writing.load(ordering: .sequentiallyConsistent) < 0 {
      guard let reading = open() else { return }
      Thread.detachNewThread { forward(from: reading) }
    }
    for number in [SIGINT, SIGTERM, SIGQUIT] { handle(number) }
  }

  /// Ignores signals from now on: the program is about to end.
  static func ignore() { receiver.withLock { $0 = nil } }

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
    var number: UInt8 = 0
    while true {
      let count = read(file, &number, 1)
      if count == 1 {
        receiver.withLock(\.self)?.receive(CInt(number))
      } else if count == 0 || errno != EINTR {
        return
      }
    }
  }

  private static func handle(_ number: CInt) {
    let handler: @convention(c) (CInt) -> Void = { number in
      let saved = errno
      var byte = UInt8(truncatingIfNeeded: number)
      _ = write(EndingSignals.writing.load(ordering: .sequentiallyConsistent), &byte, 1)
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
