// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Synchronization

  /// What a terminal tells.
  enum TerminalEvent: Sendable {
    case key(Key)
    /// Also when the screen comes back after the program was stopped.
    case resized(ScreenSize)
    /// The terminal has gone: its window was closed, its connection broke. The last event.
    case closed
  }

  /// The terminal that the program was started from, as a screen with keys.
  ///
  /// A thread of its own reads, paints and waits for signals; it never waits for a slow terminal to
  /// take what was written. Keys come from /dev/tty: standard input may be anything.
  final class Terminal: Sendable {
    /// What happens, to one consumer. Ends once the screen has been left.
    let events: AsyncStream<TerminalEvent>

    private let mailbox = Mutex(TerminalThread.Orders())
    private let signals: TerminalSignals
    private let file: CInt

    /// Puts the screen up; nil where the program has no terminal, or not in the foreground.
    init?(isColoured: Bool) {
      let file = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)
      guard file >= 0 else { return nil }
      guard tcgetpgrp(file) == getpgrp(), let signals = TerminalSignals() else {
        close(file)
        return nil
      }
      self.file = file
      self.signals = signals
      let (events, told) = AsyncStream<TerminalEvent>.makeStream()
      self.events = events
      guard TerminalGuard.enter(file) else {
        signals.end()
        close(file)
        return nil
      }
      Thread.detachNewThread { [self, file, signals] in
        var thread = TerminalThread(
          file: file, signals: signals, told: told, isColoured: isColoured)
        thread.run { self.mailbox.withLock { $0.take() } }
        TerminalGuardian.end()
        signals.end()
        close(file)
        told.finish()
      }
    }

    /// Now, in columns and rows.
    var size: ScreenSize { TerminalThread.size(of: file) }

    /// Shows these lines in place of what is shown, as soon as the terminal takes them.
    func show(_ lines: [StyledLine], _ size: ScreenSize) {
      order { $0.screen = (lines, size) }
    }

    /// Paints everything anew.
    func redraw() { order { $0.isRedrawDue = true } }

    /// Stops the program, as Ctrl-Z does elsewhere.
    func suspend() { order { $0.isStopDue = true } }

    /// Gives the terminal back. `events` ends when that is done.
    func leave() { order { $0.isEndDue = true } }

    private func order(_ change: (inout TerminalThread.Orders) -> Void) {
      mailbox.withLock { change(&$0) }
      signals.wake()
    }
  }
#endif
