// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import RefrainLocks

  /// An event of a terminal.
  enum TerminalEvent: Sendable {
    case key(Key)
    /// Also sent when the screen returns after the program was stopped.
    case resized(ScreenSize)
    /// The terminal is gone: its window was closed, or its connection broke. The last event.
    case closed
  }

  /// The terminal that the program was started from, as a screen with keys.
  ///
  /// Its own thread reads, paints and waits for signals; it never waits for a slow terminal to
  /// accept output. Keys come from /dev/tty: standard input may be anything.
  final class Terminal: Sendable {
    /// The events, for one consumer. Ends once the screen has been left.
    let events: AsyncStream<TerminalEvent>

    private let mailbox = Mutex(TerminalThread.Orders())
    private let signals: TerminalSignals
    private let file: CInt

    /// Shows the screen; returns nil if the program has no terminal or is in the background.
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
        signals.end()
        close(file)
        told.finish()
      }
    }

    /// The current size, in columns and rows.
    var size: ScreenSize { TerminalThread.size(of: file) }

    /// Replaces the shown lines by these, as soon as the terminal accepts them.
    func show(_ lines: [StyledLine], _ size: ScreenSize) {
      order { $0.screen = (lines, size) }
    }

    /// Paints everything again.
    func redraw() { order { $0.isRedrawDue = true } }

    /// Stops the program, as Ctrl-Z does elsewhere.
    func suspend() { order { $0.isStopDue = true } }

    /// Releases the terminal. `events` ends when that is done.
    func leave() { order { $0.isEndDue = true } }

    private func order(_ change: (inout TerminalThread.Orders) -> Void) {
      mailbox.withLock { change(&$0) }
      signals.wake()
    }
  }
#endif
