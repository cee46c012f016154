// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain
import RefrainLocks

#if canImport(Darwin)
  import Darwin
#endif

/// Standard output and standard error, which may be the same terminal: at most one line at its foot
/// is redrawn in place, and other lines are written above it.
final class Console: Sendable {
  static let shared = Console()

  /// The line at the foot. Changed under `terminal` only, and read by who must not wait for it.
  private let foot = Mutex("")
  /// The line of `showLater` that is to be shown next; nil: none.
  private let nextFoot = Mutex<String?>(nil)
  private let footQueue = DispatchQueue(label: "refrain.foot")
  /// Held while something is written, which a stopped terminal or an unread pipe delays.
  private let terminal = Mutex(())
  /// As `terminal`, for a standard output that is not the terminal with the line at the foot: one
  /// that nobody reads does not delay the other.
  private let output = Mutex(())
  private let notes = WritingQueue<String>(delay: .zero, write: Console.write)
  /// Receives notes while a screen has the terminal.
  private let listener = Mutex<Listener?>(nil)

  /// A closure stored directly in a lock gains a layer each time it is taken out, and calling it
  /// eventually overflows the stack.
  private struct Listener: Sendable {
    let hear: @Sendable (String) -> Void
  }

  /// Whether a line can be redrawn in place on standard error.
  let isInteractive =
    isatty(STDERR_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"

  /// Whether lines of standard output are written above the line at the foot.
  private let sharesTerminal = isatty(STDERR_FILENO) == 1 && isatty(STDOUT_FILENO) == 1

  /// Whether a screen can be shown: standard output is a terminal that moves its cursor.
  let hasScreen =
    isatty(STDOUT_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"

  /// Blocks if the locale is UTF-8.
  let barStyle: BarStyle = {
    let environment = ProcessInfo.processInfo.environment
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy
      .compactMap { environment[$0] }.first { !$0.isEmpty }
    return locale?.uppercased().replacing("-", with: "").contains("UTF8") == true ? .blocks : .ascii
  }()

  /// Whether the bar may be coloured (https://no-color.org).
  let isColoured = (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty

  /// The terminal's columns, read each time: windows are resized.
  var width: Int { Self.width(of: STDERR_FILENO) ?? 80 }

  /// The columns of standard output's terminal; nil if it is not a terminal.
  var outputWidth: Int? { Self.width(of: STDOUT_FILENO) }

  /// Writes a line to standard output.
  func print(_ line: String) throws { try print(lines: [line]) }

  /// Writes lines to standard output, all at once.
  func print(lines: [String]) throws {
    guard !lines.isEmpty else { return }
    let text = lines.joined(separator: "\n") + "\n"
    guard sharesTerminal else {
      return try output.withLock { _ in try Self.write(text, to: STDOUT_FILENO) }
    }
    try terminal.withLock { _ in
      erase()
      defer { draw() }
      try Self.write(text, to: STDOUT_FILENO)
    }
  }

  /// Writes a line to standard output, for commands without a line at the foot: a stalled reader
  /// blocks the caller, but no writer of standard error.
  func printAlone(_ line: String) throws {
    try Self.write(line + "\n", to: STDOUT_FILENO)
  }

  /// Passes notes to `listener` from now on; nil writes them again. A standard error that is not a
  /// terminal receives all lines in any case: they do not disturb the screen.
  func divert(to listener: (@Sendable (String) -> Void)?) {
    self.listener.withLock { $0 = listener.map(Listener.init) }
  }

  /// Writes a line to standard error. A failure is ignored: it could not be reported. A stalled
  /// reader blocks the caller.
  func note(_ line: String) {
    if let listener = listener.withLock(\.self) {
      listener.hear(line)
      if isatty(STDERR_FILENO) == 1 { return }
    }
    terminal.withLock { _ in
      erase()
      try? Self.write(line + "\n", to: STDERR_FILENO)
      draw()
    }
  }

  /// As `note`, on a thread of its own: returns at once, whatever the reader does. Lines beyond a
  /// bound are dropped, and counted.
  func noteLater(_ line: String) { notes.note(line) }

  /// Waits until the lines of `noteLater` are written.
  ///
  /// - Parameter givesUp: whether to wait for at most some seconds if the reader stalls; otherwise
  ///   that is so only once the task is cancelled.
  func endNotes(givesUp: Bool = false) async { await notes.end(onlyOnceCancelled: !givesUp) }

  /// Redraws the line at the foot; does nothing unless `isInteractive`.
  func show(_ line: String) {
    guard isInteractive else { return }
    terminal.withLock { _ in
      guard line != foot.withLock(\.self) else { return }
      erase()
      foot.withLock { $0 = line }
      draw()
    }
  }

  /// As `show`, on a thread of its own: returns at once, also while the terminal is stopped. Only the
  /// last line that waits is shown.
  func showLater(_ line: String) {
    guard isInteractive else { return }
    let isFirst = nextFoot.withLock { next in
      defer { next = line }
      return next == nil
    }
    guard isFirst else { return }
    footQueue.async { [self] in
      if let line = nextFoot.withLock({ $0.take() }) { show(line) }
    }
  }

  /// As `clear`, on a thread of its own.
  func clearLater() { showLater("") }

  /// Removes the line at the foot, as every command does at its end.
  func clear() {
    _ = nextFoot.withLock { $0.take() }
    // One that was taken before is drawn.
    footQueue.sync {}
    // Without one there is nothing to wait for.
    guard !foot.withLock(\.isEmpty) else { return }
    terminal.withLock { _ in removeFoot() }
  }

  /// As `clear`, for a program that ends at once: waits neither for another writer nor for a
  /// stopped terminal.
  func clearAtOnce() {
    guard !foot.withLock(\.isEmpty) else { return }
    _ = terminal.withLockIfAvailable { _ in
      var poll = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
      if Foundation.poll(&poll, 1, 0) == 1 { removeFoot() }
    }
  }

  private static func write(_ lines: [String], _ leftOut: Int) {
    if leftOut > 0 { shared.note("refrain: … \(leftOut) messages are not listed …") }
    for line in lines { shared.note(line) }
  }

  private func removeFoot() {
    erase()
    foot.withLock { $0 = "" }
  }

  private func erase() {
    guard !foot.withLock(\.isEmpty) else { return }
    try? Self.write("\r\u{1B}[K", to: STDERR_FILENO)
  }

  private func draw() {
    let line = foot.withLock(\.self)
    guard !line.isEmpty else { return }
    try? Self.write(line, to: STDERR_FILENO)
  }

  private static func width(of descriptor: CInt) -> Int? {
    var size = winsize()
    guard isatty(descriptor) == 1, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0
    else { return nil }
    return Int(size.ws_col)
  }

  private static func write(_ text: String, to descriptor: CInt) throws {
    var text = text
    try text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while !rest.isEmpty {
        let count = Foundation.write(descriptor, rest.baseAddress, rest.count)
        if count >= 0 {
          rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        } else if errno == EAGAIN {
          // A terminal that was made non-blocking: wait until it accepts more.
          var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
          _ = Foundation.poll(&poll, 1, -1)
        } else if errno == EPIPE {
          // The reader closed the pipe, as `head` does. There is nothing to report.
          throw ExitCode(128 + SIGPIPE)
        } else if errno != EINTR {
          throw MediaCacheError(
            .storage, "Writing to standard output failed: \(String(cString: strerror(errno))).",
            remedy: "Check where it is redirected to.")
        }
      }
    }
  }
}

/// Returns the failure and the remedy, in exactly one line.
func failureLine(_ url: URL, _ error: MediaCacheError) -> String {
  let address =
    url.isFileURL ? url.path(percentEncoded: false) : url.withoutUserInfo.absoluteString
  // Adds the address if the reason does not name it.
  return
    "refrain: \(printable(error.reason.contains(address) ? "\(error)" : "\(address): \(error)"))"
}
