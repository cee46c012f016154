// SPDX-License-Identifier: MIT
import Dispatch
import Foundation
import Synchronization

/// A command ended by a signal: its exit code is 128 and the signal's number, as shells have it.
struct Interrupted: Error {
  var signal: CInt
}

/// Runs `work` so that SIGINT, SIGTERM and SIGQUIT (Ctrl-\) cancel it and wait for its end; a second
/// signal does not wait.
///
/// - Throws: `Interrupted` where a signal came, whatever `work` made of it.
func endingOnSignals(_ work: @escaping @Sendable () async throws -> Void) async throws {
  let task = Task { try await work() }
  let caught = Caught()
  let queue = DispatchQueue(label: "refrain.signals")
  let sources = [SIGINT, SIGTERM, SIGQUIT].map { number in
    // The source sees signals that are ignored; the default action would end the process first.
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
    source.setEventHandler {
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
    source.resume()
    return source
  }
  defer { for source in sources { source.cancel() } }
  let result = await task.result
  if let number = caught.first { throw Interrupted(signal: number) }
  try result.get()
}

/// The first signal that came.
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
