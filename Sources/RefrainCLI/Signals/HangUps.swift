// SPDX-License-Identifier: MIT
import Foundation

/// SIGHUP as daemons use it: to read their configuration again.
enum HangUps {
  /// Returns the signals that arrive from now on; those that arrive while one is attended to count
  /// as one. The signal then has no other effect, until the process ends. Without a descriptor for
  /// it, it is ignored: it must not end the program.
  static func begin() -> AsyncStream<Void> {
    let (signals, arrived) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    if !SignalPipe.receive([SIGHUP], { _ in arrived.yield() }) { signal(SIGHUP, SIG_IGN) }
    return signals
  }
}
