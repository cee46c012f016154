// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

#if canImport(Darwin)
  import Darwin
#endif

/// Passes SIGUSR1, with which programs that rotate logs ask to open them again, to a closure. As
/// for the signals that end a program, the handler writes to a pipe, which signal-safety(7)
/// permits.
enum ReopenSignal {
  private struct Receiver: Sendable {
    let receive: @Sendable () -> Void
  }

  private static let receiver = Mutex<Receiver?>(nil)
  /// -1 until the pipe exists, which stays open for the process's lifetime.
  private static let writing = Atomic<CInt>(-1)

  /// Calls `body` at each signal from now on, on a thread of its own; several that arrive at once
  /// may be one. If the system has no descriptor left, the signal is ignored.
  static func receive(_ body: @escaping @Sendable () -> Void) {
    receiver.withLock { $0 = Receiver(receive: body) }
    guard writing.load(ordering: .sequentiallyConsistent) < 0 else { return }
    var ends: [CInt] = [-1, -1]
    guard pipe(&ends) == 0 else {
      signal(SIGUSR1, SIG_IGN)
      return
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
    writing.store(ends[1], ordering: .sequentiallyConsistent)
    let reading = ends[0]
    Thread.detachNewThread { forward(from: reading) }
    handle()
  }

  /// Ignores the signal from now on.
  static func ignore() { receiver.withLock { $0 = nil } }

  private static func forward(from file: CInt) {
    var bytes = [UInt8](repeating: 0, count: 64)
    while true {
      let count = read(file, &bytes, bytes.count)
      if count > 0 {
        receiver.withLock(\.self)?.receive()
      } else if count == 0 || errno != EINTR {
        return
      }
    }
  }

  private static func handle() {
    let handler: @convention(c) (CInt) -> Void = { _ in
      let saved = errno
      var byte: UInt8 = 0
      _ = write(ReopenSignal.writing.load(ordering: .sequentiallyConsistent), &byte, 1)
      errno = saved
    }
    var action = sigaction()
    #if canImport(Darwin)
      action.__sigaction_u.__sa_handler = handler
    #else
      action.__sigaction_handler.sa_handler = handler
    #endif
    action.sa_flags = CInt(SA_RESTART)
    sigaction(SIGUSR1, &action, nil)
  }
}
