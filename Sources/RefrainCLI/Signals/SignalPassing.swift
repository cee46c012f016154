// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

#if canImport(Darwin)
  import Darwin
#endif

/// Forwards signals that another process sent to this one, by kill(2), to its child.
///
/// Signals from the kernel, as for Ctrl-C, are not forwarded: they go to every process of the
/// terminal's foreground group, and the child would receive them twice.
///
/// The handler can interrupt a thread anywhere, so it may do little (signal-safety(7)): it reads
/// and writes two atomic numbers, and calls kill(2).
enum SignalPassing {
  private static let signals = [SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT, SIGQUIT, SIGINT]

  /// The child; 0 while there is none.
  private static let child = Atomic<pid_t>(0)

  /// A bit for each signal that arrived and was not forwarded yet.
  private static let waiting = Atomic<UInt64>(0)

  /// Holds signals for a child from now on. Signals that were ignored when this program was
  /// started, as by nohup(1), stay ignored, here and in the child.
  static func begin() {
    // Initializes lazy values, which the handler must not do.
    handle(0, isFromProcess: false)
    for number in signals {
      var action = sigaction()
      guard sigaction(number, nil, &action) == 0, !action.isIgnored else { continue }
      action = sigaction()
      set(&action)
      sigemptyset(&action.sa_mask)
      action.sa_flags = CInt(SA_SIGINFO) | CInt(SA_RESTART)
      sigaction(number, &action, nil)
    }
  }

  /// Forwards signals to this process, including those held.
  static func pass(to process: pid_t) {
    child.store(process, ordering: .sequentiallyConsistent)
    handOn()
  }

  /// Ends forwarding: signals have their default effect again.
  static func end() {
    child.store(0, ordering: .sequentiallyConsistent)
    for number in signals {
      var action = sigaction()
      guard sigaction(number, nil, &action) == 0, !action.isIgnored else { continue }
      signal(number, SIG_DFL)
    }
    waiting.store(0, ordering: .sequentiallyConsistent)
  }

  private static func handle(_ number: CInt, isFromProcess: Bool) {
    guard isFromProcess else {
      handOn()
      return
    }
    waiting.bitwiseOr(1 << UInt64(number), ordering: .sequentiallyConsistent)
    handOn()
  }

  /// Sends each held signal once, whichever thread this runs on.
  private static func handOn() {
    let process = child.load(ordering: .sequentiallyConsistent)
    guard process > 0 else { return }
    var bits = waiting.exchange(0, ordering: .sequentiallyConsistent)
    while bits != 0 {
      let number = CInt(truncatingIfNeeded: bits.trailingZeroBitCount)
      bits &= bits &- 1
      kill(process, number)
    }
  }

  #if canImport(Darwin)
    private static func set(_ action: inout sigaction) {
      action.__sigaction_u.__sa_sigaction = { number, information, _ in
        let saved = errno
        // The kernel's own signals name no process.
        SignalPassing.handle(number, isFromProcess: (information?.pointee.si_pid ?? 0) != 0)
        errno = saved
      }
    }
  #else
    private static func set(_ action: inout sigaction) {
      action.__sigaction_handler.sa_sigaction = { number, information, _ in
        let saved = errno
        // SI_FROMUSER: the kernel's own codes are above 0 (sigaction(2)).
        SignalPassing.handle(number, isFromProcess: (information?.pointee.si_code ?? 1) <= 0)
        errno = saved
      }
    }
  #endif
}

extension sigaction {
  /// Whether the signal is ignored (SIG_IGN). Compared as a number, as C does.
  var isIgnored: Bool {
    #if canImport(Darwin)
      let handler = unsafeBitCast(__sigaction_u.__sa_handler, to: Int.self)
    #else
      let handler = unsafeBitCast(__sigaction_handler.sa_handler, to: Int.self)
    #endif
    return handler == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
