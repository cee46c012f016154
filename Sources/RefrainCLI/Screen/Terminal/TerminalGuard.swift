// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import RefrainLocks

  /// Restores the terminal however the program ends: also by exit(3), by a second signal, and by a
  /// crash. Only SIGKILL leaves it as it is.
  ///
  /// `restore()` may be called by a signal handler: it uses atomic numbers, and calls write(2),
  /// poll(2) and tcsetattr(3), which signal-safety(7) lists.
  enum TerminalGuard {
    /// The alternate screen, no cursor, no wrapping at the last column, marked pastes.
    static let enterSequence = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[?2004h"
    private static let leaveSequence =
      "\u{1B}[?2026l\u{1B}[0m\u{1B}[?2004l\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

    /// The terminal while it is changed; -1 otherwise.
    private static let entered = Atomic<CInt>(-1)

    /// The original settings. Unsafe: written before `entered` is set, and read after.
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

    /// Saves the terminal's settings, and makes it report every key at once.
    static func enter(_ terminal: CInt) -> Bool {
      // Initializes lazy values, which a signal handler must not do.
      _ = leaveBytes.count
      _ = CrashSignals.isWatching
      _ = exitHook
      if !isEntered {
        guard tcgetattr(terminal, found) == 0 else { return false }
        entered.store(terminal, ordering: .sequentiallyConsistent)
      }
      var raw = found.pointee
      let output = raw.c_oflag
      cfmakeraw(&raw)
      // Keeps the line ends of other writers intact.
      raw.c_oflag = output
      return tcsetattr(terminal, TCSADRAIN, &raw) == 0
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
          // Full, or interrupted. A terminal that accepts nothing for a second is gone.
          attempts += 1
          var poll = pollfd(fd: terminal, events: Int16(POLLOUT), revents: 0)
          _ = Foundation.poll(&poll, 1, 100)
        }
      }
      tcsetattr(terminal, TCSANOW, found)
    }

    private static let exitHook: Void = {
      atexit { TerminalGuard.restore() }
      return
    }()
  }

  /// Restores the terminal after a crash while the screen is shown; then the crash continues.
  private enum CrashSignals {
    private static let signals = [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT]

    /// The previous actions, by number. Unsafe: written before the handlers are set, and read
    /// after.
    nonisolated(unsafe) private static let earlier: UnsafeMutablePointer<sigaction> = {
      let pointer = UnsafeMutablePointer<sigaction>.allocate(capacity: 65)
      pointer.initialize(repeating: sigaction(), count: 65)
      return pointer
    }()

    /// True once the handlers are set, on first use.
    static let isWatching: Bool = {
      for number in signals {
        guard sigaction(number, nil, earlier + Int(number)) == 0 else { continue }
        var action = sigaction()
        action.__sigaction_handler.sa_sigaction = { number, information, _ in
          TerminalGuard.restore()
          sigaction(number, CrashSignals.earlier + Int(number), nil)
          // The kernel's signals recur once this returns; those of a process or abort(3) do not.
          if (information?.pointee.si_code ?? 0) <= 0 { raise(number) }
        }
        action.sa_flags = CInt(SA_SIGINFO) | CInt(SA_ONSTACK)
        sigaction(number, &action, nil)
      }
      return true
    }()
  }

  /// Keeps libraries from writing over a screen: drivers of graphics cards report what they miss to
  /// standard error. Affects the whole process.
  struct ErrorOutputCover: Sendable {
    private let original: CInt

    /// Discards what is written to standard error from now on; returns nil if that is no terminal.
    init?() {
      guard isatty(STDERR_FILENO) == 1 else { return nil }
      let original = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
      guard original >= 0 else { return nil }
      let null = open("/dev/null", O_WRONLY | O_CLOEXEC)
      guard null >= 0 else {
        close(original)
        return nil
      }
      dup2(null, STDERR_FILENO)
      close(null)
      self.original = original
    }

    /// Restores standard error. Call it once.
    func remove() {
      dup2(original, STDERR_FILENO)
      close(original)
    }
  }
#endif
