// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// A terminal that tests type into and read: tmux, with a separate server and a shell.
  ///
  /// The shell's folder is the program's, where `./refrain` is.
  struct Tmux {
    private let program: Program
    private let server: LeashedProcess
    private let socket: String

    /// Whether tests that play in a terminal run.
    static let canPlay = RequiredProgram.tmux.isUsable && RequiredLibrary.libmpv.isUsable

    struct Failure: Error, CustomStringConvertible {
      var description: String
    }

    /// Runs `body` in a terminal of that size, and closes it.
    static func with(
      _ program: Program, columns: Int = 80, rows: Int = 24,
      _ body: (Tmux) async throws -> Void
    ) async throws {
      try FileManager.default.createSymbolicLink(
        at: program.directory.appending(path: "refrain"),
        withDestinationURL: Program.executable())
      let socket = program.directory.appending(path: "tmux").path(percentEncoded: false)
      let variables = program.environment.merging([
        "LC_ALL": "C.UTF-8", "NO_COLOR": "", "SWIFT_BACKTRACE": "enable=no",
      ]) { $1 }
      // -D: in the foreground, so that the server ends with the tests.
      let server = try LeashedProcess(
        try RequiredProgram.tmux.path, ["-S", socket, "-f", "/dev/null", "-D"],
        in: program.directory, output: program.directory.appending(path: "tmux-output"),
        environment: variables)
      let tmux = Tmux(program: program, server: server, socket: socket)
      let result: Result<Void, any Error>
      do {
        // A client that is refused would start a server of its own.
        try await eventually("tmux listens") { isListening(at: socket) }
        try await tmux.command(
          "new-session", "-d", "-c", program.directory.path(percentEncoded: false), "-x",
          "\(columns)", "-y", "\(rows)", "env PS1='> ' /bin/bash --norc --noprofile")
        try await tmux.waits(for: ">")
        result = .success(try await body(tmux))
      } catch {
        result = .failure(error)
      }
      await server.kill()
      try result.get()
    }

    /// Whether connections are accepted: the socket's file exists earlier.
    private static func isListening(at path: String) -> Bool {
      let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
      let file = Foundation.socket(AF_UNIX, type, 0)
      guard file >= 0 else { return false }
      defer { Foundation.close(file) }
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) {
        $0.copyBytes(from: path.utf8.prefix($0.count - 1))
      }
      return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(file, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
        }
      }
    }

    // MARK: Typing

    /// Types a line and Enter.
    func enter(_ line: String) async throws {
      try await command("send-keys", "-l", line)
      try await command("send-keys", "Enter")
    }

    /// Presses keys by tmux's names: Right, C-z, Escape; a character is itself.
    func press(_ keys: String...) async throws {
      for key in keys { try await command("send-keys", key) }
    }

    func type(_ text: String) async throws { try await command("send-keys", "-l", text) }

    func resize(columns: Int, rows: Int) async throws {
      try await command("resize-window", "-x", "\(columns)", "-y", "\(rows)")
    }

    /// Closes the window.
    func close() async throws { try await command("kill-pane") }

    // MARK: Looking

    func screen() async throws -> [String] {
      try await command("capture-pane", "-p").split(
        separator: "\n", omittingEmptySubsequences: false
      )
      .map(String.init)
    }

    /// Whether the alternate screen is shown, which programs leave when they end.
    func isAlternate() async throws -> Bool {
      try await command("display-message", "-p", "#{alternate_on}").hasPrefix("1")
    }

    /// Whether the cursor is visible.
    func hasCursor() async throws -> Bool {
      try await command("display-message", "-p", "#{cursor_flag}").hasPrefix("1")
    }

    /// Waits until the screen satisfies the condition, and returns it.
    @discardableResult
    func waits(
      until what: String, _ condition: ([String]) -> Bool
    ) async throws -> [String] {
      var last: [String] = []
      var pause = Duration.milliseconds(20)
      do {
        try await eventually(what) {
          last = try await screen()
          if condition(last) { return true }
          // Each look starts processes.
          try await Task.sleep(for: pause)
          pause = min(pause * 2, .milliseconds(100))
          return false
        }
      } catch is NeverHappened {
        throw Failure(description: "\(what) never came:\n\(last.joined(separator: "\n"))")
      }
      return last
    }

    /// Waits until the screen shows all of the texts at once: tmux also shows screens of which the
    /// program has written only the upper part.
    @discardableResult
    func waits(for texts: String...) async throws -> [String] {
      try await waits(until: "'\(texts.joined(separator: "', '"))'") { lines in
        texts.allSatisfy { text in lines.contains { $0.contains(text) } }
      }
    }

    // MARK: tmux

    @discardableResult
    private func command(_ arguments: String...) async throws -> String {
      let client = try RunningProgram(
        program, path: RequiredProgram.tmux.path.path(percentEncoded: false),
        ["-u", "-S", socket] + arguments)
      var text = ""
      for await line in client.lines { text += line + "\n" }
      guard await client.end() == 0 else {
        throw Failure(description: "tmux \(arguments): \(text)\(client.errors)")
      }
      return text
    }
  }
#endif
