// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import RefrainLocks

  /// Signals that concern the screen, as bytes in a pipe: the screen's thread waits for them and
  /// for keys at the same time. A byte of 0 only wakes it.
  final class TerminalSignals: Sendable {
    /// The end of the pipe that the thread reads.
    let reading: CInt
    private let writing: CInt
    /// The previous actions, by signal.
    private let earlier: Mutex<[CInt: sigaction]>

    /// The descriptor that the handler writes to; -1 while there is no reader.
    private static let target = Atomic<CInt>(-1)

    /// Returns nil if the system has no descriptor left.
    init?() {
      var ends: [CInt] = [-1, -1]
      guard pipe(&ends) == 0 else { return nil }
      for end in ends {
        _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        _ = fcntl(end, F_SETFL, O_NONBLOCK)
      }
      (reading, writing) = (ends[0], ends[1])
      Self.target.store(writing, ordering: .sequentiallyConsistent)
      var earlier: [CInt: sigaction] = [:]
      for number in [SIGWINCH, SIGCONT, SIGTSTP, SIGHUP] {
        var before = sigaction()
        guard sigaction(number, nil, &before) == 0 else { continue }
        // Signals that the parent had ignored stay ignored, as with nohup(1).
        if number == SIGTSTP || number == SIGHUP, before.isIgnored { continue }
        earlier[number] = before
        Self.handle(number)
      }
      // The screen is shown in the foreground only; restoring the terminal must never stop the
      // program.
      var before = sigaction()
      if sigaction(SIGTTOU, nil, &before) == 0 {
        earlier[SIGTTOU] = before
        signal(SIGTTOU, SIG_IGN)
      }
      self.earlier = Mutex(earlier)
    }

    deinit {
      close(reading)
      close(writing)
    }

    /// Whether Ctrl-Z may stop the program.
    var canStop: Bool { earlier.withLock { $0[SIGTSTP] != nil } }

    func wake() { Self.send(0, to: writing) }

    /// Returns the signals received since the last call, each once.
    func taken() -> Set<CInt> {
      var numbers: Set<CInt> = []
      var bytes = [UInt8](repeating: 0, count: 64)
      while true {
        let count = read(reading, &bytes, bytes.count)
        guard count > 0 else { return numbers }
        for byte in bytes[..<count] where byte > 0 { numbers.insert(CInt(byte)) }
      }
    }

    /// Stops this process and its group, as the terminal does on Ctrl-Z. Returns when it continues,
    /// or at once if no process could continue it (a group without a shell is not stopped).
    func stop() {
      guard canStop else { return }
      signal(SIGTSTP, SIG_IGN)
      kill(0, SIGTSTP)
      signal(SIGTSTP, SIG_DFL)
      // A signal to this thread is delivered before the call returns. It may be blocked here: the
      // mask is inherited from the thread that created this one.
      var set = sigset_t()
      sigemptyset(&set)
      sigaddset(&set, SIGTSTP)
      pthread_sigmask(SIG_UNBLOCK, &set, nil)
      raise(SIGTSTP)
      Self.handle(SIGTSTP)
    }

    /// Restores the previous actions of the signals.
    func end() {
      Self.target.store(-1, ordering: .sequentiallyConsistent)
      earlier.withLock { earlier in
        for (number, action) in earlier {
          var action = action
          sigaction(number, &action, nil)
        }
        earlier = [:]
      }
    }

    private static func handle(_ number: CInt) {
      var action = sigaction()
      action.__sigaction_handler.sa_handler = { number in
        let saved = errno
        TerminalSignals.send(
          UInt8(number), to: TerminalSignals.target.load(ordering: .sequentiallyConsistent))
        errno = saved
      }
      action.sa_flags = CInt(SA_RESTART)
      sigaction(number, &action, nil)
    }

    /// Writes a byte. A full pipe has woken the thread already.
    private static func send(_ byte: UInt8, to file: CInt) {
      var byte = byte
      if file >= 0 { _ = write(file, &byte, 1) }
    }
  }
#endif
