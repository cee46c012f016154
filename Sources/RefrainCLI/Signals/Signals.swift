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
  let ending = [SIGINT, SIGTERM, SIGQUIT]
  SignalPipe.receive(ending) { number in
    if caught.isFirst(number) {
      task.cancel()
    } else {
      #if os(Linux)
        TerminalGuard.restore()
      #endif
      Console.shared.clearAtOnce()
      _exit(128 + number)
    }
  }
  defer { SignalPipe.ignore(ending) }
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
