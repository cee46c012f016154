// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

#if canImport(Darwin)
  import Darwin
#endif

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
