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

  /// The work and the state of a terminal's thread.
  struct TerminalThread {
    /// The orders received since they were last taken.
    struct Orders: Sendable {
      var screen: (lines: [StyledLine], size: ScreenSize)?
      var isRedrawDue = false
      var isStopDue = false
      var isEndDue = false

      mutating func take() -> Orders {
        defer { self = Orders() }
        return self
      }
    }

    private let file: CInt
    private let signals: TerminalSignals
    private let told: AsyncStream<TerminalEvent>.Continuation
    private var painter: Painter
    private var parser = KeyParser()
    /// Output that the terminal has not accepted yet.
    private var output: [UInt8]
    private var screen: (lines: [StyledLine], size: ScreenSize)?
    private var isGone = false

    /// The time after which a lone ESC is Escape, in milliseconds. The rest of a key's sequence
    /// arrives at once, or nearly so over a slow connection.
    private static let escapeDelay: CInt = 50

    init(
      file: CInt, signals: TerminalSignals, told: AsyncStream<TerminalEvent>.Continuation,
      isColoured: Bool
    ) {
      self.file = file
      self.signals = signals
      self.told = told
      painter = Painter(isColoured: isColoured)
      output = Array(TerminalGuard.enterSequence.utf8)
    }

    /// Runs until an order ends it; the terminal is then restored.
    mutating func run(_ orders: () -> Orders) {
      while true {
        wait()
        for number in signals.taken() { handle(number) }
        let orders = orders()
        if let new = orders.screen { screen = new }
        if orders.isEndDue { break }
        if orders.isRedrawDue { painter.forget() }
        if orders.isStopDue { stop() }
        paint()
      }
      TerminalGuard.restore()
    }

    static func size(of file: CInt) -> ScreenSize {
      var size = winsize()
      guard ioctl(file, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
        return ScreenSize(columns: 80, rows: 24)
      }
      return ScreenSize(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }

    // MARK: Waiting and reading

    private mutating func wait() {
      let isShown = TerminalGuard.isEntered && !isGone
      var wanted = isShown ? Int16(POLLIN) : 0
      if isShown, !output.isEmpty { wanted |= Int16(POLLOUT) }
      // poll(2) ignores a negative descriptor.
      var polls = [
        pollfd(fd: signals.reading, events: Int16(POLLIN), revents: 0),
        pollfd(fd: isShown ? file : -1, events: wanted, revents: 0),
      ]
      let count = poll(&polls, 2, parser.isWaiting ? Self.escapeDelay : -1)
      if count == 0 { tell(parser.flush()) }
      guard count > 0, isShown else { return }
      if polls[1].revents & Int16(POLLIN | POLLHUP | POLLERR) != 0 { readKeys() }
      if polls[1].revents & Int16(POLLOUT) != 0 { writeOutput() }
    }

    private mutating func readKeys() {
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = read(file, &bytes, bytes.count)
      if count > 0 {
        tell(parser.feed(bytes[..<count]))
      } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
        end()
      }
    }

    private func tell(_ keys: [Key]) {
      for key in keys { told.yield(.key(key)) }
    }

    private mutating func end() {
      isGone = true
      told.yield(.closed)
    }

    // MARK: Signals

    private mutating func handle(_ number: CInt) {
      switch number {
      case SIGWINCH: told.yield(.resized(Self.size(of: file)))
      case SIGCONT: enter()
      case SIGTSTP: stop()
      case SIGHUP: end()
      default: break
      }
    }

    private mutating func stop() {
      guard signals.canStop else { return }
      TerminalGuard.restore()
      signals.stop()
      enter()
    }

    /// Shows the screen again, even if a shell has changed the terminal meanwhile; leaves it if
    /// this program runs in the background.
    private mutating func enter() {
      guard !isGone else { return }
      guard tcgetpgrp(file) == getpgrp() else {
        TerminalGuard.restore()
        return
      }
      guard TerminalGuard.enter(file) else { return end() }
      parser = KeyParser()
      painter.forget()
      output = Array(TerminalGuard.enterSequence.utf8)
      told.yield(.resized(Self.size(of: file)))
    }

    // MARK: Painting

    /// Paints one screen at a time: while the terminal is slow, all but the latest are skipped. A
    /// screen of another size is not painted, because a new one follows.
    private mutating func paint() {
      guard TerminalGuard.isEntered, !isGone else { return }
      if !output.isEmpty { writeOutput() }
      guard output.isEmpty, let screen, screen.size == Self.size(of: file) else { return }
      output = painter.paint(screen.lines, screen.size)
      if !output.isEmpty { writeOutput() }
    }

    private mutating func writeOutput() {
      let count = write(file, output, output.count)
      if count > 0 {
        output.removeFirst(count)
      } else if count < 0, errno != EAGAIN, errno != EINTR {
        output = []
        end()
      }
    }
  }
#endif
