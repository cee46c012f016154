// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Synchronization

  /// Gives the terminal back as it was found, whichever way the program ends: also by exit(3), by a
  /// second signal, and by a crash. Where the program is killed, `TerminalGuardian` does that.
  ///
  /// `restore()` may be called by a signal handler: it takes atomic numbers, and calls write(2),
  /// poll(2) and tcsetattr(3), which signal-safety(7) lists.
  enum TerminalGuard {
    /// Another screen, no cursor, no wrapping at the last column, pastes told from typing.
    static let enterSequence = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[?2004h"
    private static let leaveSequence =
      "\u{1B}[?2026l\u{1B}[0m\u{1B}[?2004l\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

    /// The terminal while it is not as it was found; -1 otherwise.
    private static let entered = Atomic<CInt>(-1)

    /// How it was found. Unsafe: written before `entered` is set, and read after.
    nonisolated(unsafe) private static let found: UnsafeMutablePointer<termios> = {
      let pointer = UnsafeMutablePointer<termios>.allocate(capacity: 1)
      pointer.initialize(to: termios())
      return pointer
    }()

    /// Unsafe: never written again.
    nonisolated(unsafe) private static let leaveBytes: UnsafeBufferPointer<UInt8> = {
      let bytes = Array(leaveSequence.utf8)
      let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
      _ = buffer.initialize(from: bytes)
      return UnsafeBufferPointer(buffer)
    }()

    static var isEntered: Bool { entered.load(ordering: .sequentiallyConsistent) >= 0 }

    /// Notes how the terminal is, and makes it tell every key at once.
    static func enter(_ terminal: CInt) -> Bool {
      // What is made at its first use must not be made by a signal handler.
      _ = leaveBytes.count
      _ = CrashSignals.isWatching
      _ = exitHook
      if !isEntered {
        guard tcgetattr(terminal, found) == 0 else { return false }
        TerminalGuardian.start(terminal, leaving: leaveSequence)
        entered.store(terminal, ordering: .sequentiallyConsistent)
      }
      var raw = found.pointee
      let output = raw.c_oflag
      cfmakeraw(&raw)
      // Lines that others write do not become stairs.
      raw.c_oflag = output
      guard tcsetattr(terminal, TCSADRAIN, &raw) == 0 else { return false }
      // As the terminal took it.
      if tcgetattr(terminal, &raw) == 0 {
        TerminalGuardian.note(raw: raw, found: found.pointee)
      }
      return true
    }

    static func restore() {
      let terminal = entered.exchange(-1, ordering: .sequentiallyConsistent)
      guard terminal >= 0 else { return }
      var rest = UnsafeRawBufferPointer(leaveBytes)
      var attempts = 0
      while !rest.isEmpty, attempts < 10 {
        let count = write(terminal, rest.baseAddress, rest.count)
        if count > 0 {
          rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        } else {
          // Full, or interrupted. A terminal that takes nothing for a second has gone.
          attempts += 1
          var poll = pollfd(fd: terminal, events: Int16(POLLOUT), revents: 0)
          _ = Foundation.poll(&poll, 1, 100)
        }
      }
      tcsetattr(terminal, TCSANOW, found)
      TerminalGuardian.noteRestored()
    }

    private static let exitHook: Void = {
      atexit { TerminalGuard.restore() }
      return
    }()
  }

  /// A crash while the screen is up: the terminal is given back, and then what was to happen happens.
  private enum CrashSignals {
    private static let signals = [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT]

    /// What was set before, by number. Unsafe: written before the handlers are set, and read after.
    nonisolated(unsafe) private static let earlier: UnsafeMutablePointer<sigaction> = {
      let pointer = UnsafeMutablePointer<sigaction>.allocate(capacity: 65)
      pointer.initialize(repeating: sigaction(), count: 65)
      return pointer
    }()

    /// True once the handlers are set, at the first use.
    static let isWatching: Bool = {
      for number in signals {
        guard sigaction(number, nil, earlier + Int(number)) == 0 else { continue }
        var action = sigaction()
        action.__sigaction_handler.sa_sigaction = { number, information, _ in
          TerminalGuard.restore()
          sigaction(number, CrashSignals.earlier + Int(number), nil)
          // The kernel's own come again once this returns; what a process or abort(3) sent does not.
          if (information?.pointee.si_code ?? 0) <= 0 { raise(number) }
        }
        action.sa_flags = CInt(SA_SIGINFO) | CInt(SA_ONSTACK)
        sigaction(number, &action, nil)
      }
      return true
    }()
  }
#endif
