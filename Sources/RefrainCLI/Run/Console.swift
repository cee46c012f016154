// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain
import Synchronization

#if canImport(Darwin)
  import Darwin
#endif

/// Standard output and standard error, which may be the same terminal: at most one line at its
/// foot is redrawn in place, and other lines go above it.
final class Console: Sendable {
  static let shared = Console()

  private let foot = Mutex("")
  /// Who shows what is noted, while a screen has the terminal.
  private let listener = Mutex<Listener?>(nil)

  /// A closure that a lock's value is by itself gets a layer each time it is taken from there, and
  /// calling it overflows the stack in the end.
  private struct Listener: Sendable {
    let hear: @Sendable (String) -> Void
  }

  /// Whether a line can be redrawn in place on standard error.
  let isInteractive =
    isatty(STDERR_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"

  /// Whether a screen can be shown: standard output is a terminal that moves its cursor.
  let hasScreen =
    isatty(STDOUT_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"

  /// Blocks where the locale says UTF-8.
  let barStyle: BarStyle = {
    let environment = ProcessInfo.processInfo.environment
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy
      .compactMap { environment[$0] }.first { !$0.isEmpty }
    return locale?.uppercased().replacing("-", with: "").contains("UTF8") == true ? .blocks : .ascii
  }()

  /// Whether the bar may be coloured (https://no-color.org).
  let isColoured = (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty

  /// Columns of the terminal, asked each time: windows change.
  var width: Int { Self.width(of: STDERR_FILENO) ?? 80 }

  /// Columns of the terminal that standard output is; nil where it is none.
  var outputWidth: Int? { Self.width(of: STDOUT_FILENO) }

  /// Writes a line to standard output.
  func print(_ line: String) throws { try print(lines: [line]) }

  /// Writes lines to standard output, all at once.
  func print(lines: [String]) throws {
    guard !lines.isEmpty else { return }
    let text = lines.joined(separator: "\n") + "\n"
    try foot.withLock { foot in
      erase(foot)
      defer { draw(foot) }
      try Self.write(text, to: STDOUT_FILENO)
    }
  }

  /// Writes a line to standard output, for commands that show no line at the foot: whoever does not
  /// read it holds up the caller, and nobody who writes to standard error.
  func printAlone(_ line: String) throws {
    try Self.write(line + "\n", to: STDOUT_FILENO)
  }

  /// Hands what is noted to `listener` from now on, or writes it again where that is nil. A standard
  /// error that is no terminal has all lines in any case: no screen is spoilt by it.
  func divert(to listener: (@Sendable (String) -> Void)?) {
    self.listener.withLock { $0 = listener.map(Listener.init) }
  }

  /// Writes a line to standard error. Where that fails there is nobody left to tell.
  func note(_ line: String) {
    if let listener = listener.withLock(\.self) {
      listener.hear(line)
      if isatty(STDERR_FILENO) == 1 { return }
    }
    foot.withLock { foot in
      erase(foot)
      try? Self.write(line + "\n", to: STDERR_FILENO)
      draw(foot)
    }
  }

  /// Redraws the line at the foot; nothing where standard error is no terminal.
  func show(_ line: String) {
    guard isInteractive else { return }
    foot.withLock { foot in
      guard line != foot else { return }
      erase(foot)
      foot = line
      draw(foot)
    }
  }

  /// Takes the line at the foot away, as at the end of every command.
  func clear() {
    foot.withLock { foot in
      erase(foot)
      foot = ""
    }
  }

  private func erase(_ foot: String) {
    guard !foot.isEmpty else { return }
    try? Self.write("\r\u{1B}[K", to: STDERR_FILENO)
  }

  private func draw(_ foot: String) {
    guard !foot.isEmpty else { return }
    try? Self.write(foot, to: STDERR_FILENO)
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
          // A terminal that somebody made non-blocking: wait until it takes more.
          var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
          _ = Foundation.poll(&poll, 1, -1)
        } else if errno == EPIPE {
          // The reader has seen enough, as `head` has. Nothing to say, and nobody to say it to.
          throw ExitCode(128 + SIGPIPE)
        } else if errno != EINTR {
          throw MediaCacheError(
            .storage, "Standard output could not be written: \(String(cString: strerror(errno))).",
            remedy: "Check where it leads to.")
        }
      }
    }
  }
}
