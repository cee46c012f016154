// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  /// A running program, in a process that ends with the tests on every outcome.
  ///
  /// Started with posix_spawn(3) and waited for with waitpid(2): `Process` considers a program with
  /// a remaining child as running, and passes on the tests' ignored signals.
  final class RunningProgram: Sendable {
    let process: pid_t
    private let leash: CInt
    private let errorFile: String
    private let exits: AsyncStream<CInt>
    /// The lines of its standard output, as they arrive.
    let lines: AsyncStream<String>

    /// `$$` is the shell, which becomes the program with the same process ID. The reader of the
    /// pipe stays behind, and kills the program once the pipe is closed. Descriptors from 3 on are
    /// those that a service manager passes (sd_listen_fds(3)).
    private static let script = #"""
      exec 9<&0; (read -r _ <&9; kill -9 $$) 3<&- 4<&- >/dev/null 2>&1 &
      if [ -n "$LISTEN_FDS" ]; then LISTEN_PID=$$; export LISTEN_PID; fi
      exec "$@" 9<&- </dev/null
      """#

    struct Failure: Error {
      var description: String
    }

    /// Starts the program under test.
    ///
    /// - Parameters:
    ///   - sockets: at most two, which it inherits as from a service manager, by name.
    ///   - errors: its standard error; nil: a file, of which `errors` returns the text.
    convenience init(
      _ program: Program, _ arguments: [String], sockets: [(name: String, descriptor: CInt)] = [],
      errors: CInt? = nil
    ) throws {
      try self.init(
        program, path: Program.executable().path(percentEncoded: false), arguments,
        sockets: sockets, errors: errors)
    }

    /// Starts any program, in the environment of the one under test.
    init(
      _ program: Program, path: String, _ arguments: [String],
      sockets: [(name: String, descriptor: CInt)] = [], errors: CInt? = nil
    ) throws {
      errorFile = program.directory.appending(path: "errors-\(UUID().uuidString)").path()
      let (input, output) = (try Self.pipe(), try Self.pipe())
      defer { for end in [input.reading, output.writing] { close(end) } }
      var actions = posix_spawn_file_actions_t()
      posix_spawn_file_actions_init(&actions)
      defer { posix_spawn_file_actions_destroy(&actions) }
      posix_spawn_file_actions_adddup2(&actions, input.reading, STDIN_FILENO)
      posix_spawn_file_actions_adddup2(&actions, output.writing, STDOUT_FILENO)
      if let errors {
        posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO)
      } else {
        posix_spawn_file_actions_addopen(
          &actions, STDERR_FILENO, errorFile, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
      }
      // First out of the way of the numbers that they are to have.
      for (index, socket) in sockets.enumerated() {
        posix_spawn_file_actions_adddup2(&actions, socket.descriptor, CInt(500 + index))
      }
      for index in sockets.indices {
        posix_spawn_file_actions_adddup2(&actions, CInt(500 + index), CInt(3 + index))
      }
      actions.closeFiles(from: CInt(3 + sockets.count))
      var attributes = posix_spawnattr_t()
      posix_spawnattr_init(&attributes)
      defer { posix_spawnattr_destroy(&attributes) }
      var (all, none) = (sigset_t(), sigset_t())
      sigfillset(&all)
      sigemptyset(&none)
      posix_spawnattr_setsigdefault(&attributes, &all)
      posix_spawnattr_setsigmask(&attributes, &none)
      posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
      let words = Self.cStrings(["sh", "-c", Self.script, "sh", path] + arguments)
      var environment = program.environment
      if !sockets.isEmpty {
        environment["LISTEN_FDS"] = "\(sockets.count)"
        environment["LISTEN_FDNAMES"] = sockets.map(\.name).joined(separator: ":")
      }
      let variables = Self.cStrings(environment.map { "\($0)=\($1)" })
      defer { for pointer in words + variables { free(pointer) } }
      var process: pid_t = 0
      let number = posix_spawn(&process, "/bin/sh", &actions, &attributes, words, variables)
      guard number == 0 else {
        for end in [input.writing, output.reading] { close(end) }
        throw Failure(description: String(cString: strerror(number)))
      }
      self.process = process
      leash = input.writing
      lines = Self.lines(of: output.reading)
      exits = Self.exits(of: process)
    }

    deinit { close(leash) }

    var errors: String { (try? String(contentsOfFile: errorFile, encoding: .utf8)) ?? "" }

    func send(_ signal: CInt) { kill(process, signal) }

    /// Returns the exit code once the program has ended, or the negative number of the signal that
    /// ended it.
    func end() async -> CInt? {
      for await code in exits { return code }
      return nil
    }

    /// Returns the next line of its standard output.
    func nextLine() async throws -> String {
      for await line in lines { return line }
      throw Failure(description: "It ended: \(errors)")
    }

    // MARK: Starting

    /// Returns a pair of sockets: unlike the ends of a pipe, they are close-on-exec from the start,
    /// so no other test's program inherits them.
    private static func pipe() throws -> (reading: CInt, writing: CInt) {
      var ends: [CInt] = [-1, -1]
      let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
      guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
        throw Failure(description: String(cString: strerror(errno)))
      }
      return (ends[0], ends[1])
    }

    private static func cStrings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
      texts.map { strdup($0) } + [nil]
    }

    // MARK: On threads of their own, for they block

    private static func lines(of file: CInt) -> AsyncStream<String> {
      let (lines, told) = AsyncStream<String>.makeStream()
      Thread.detachNewThread {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(file, &byte, 1) == 1 {
          guard byte == UInt8(ascii: "\n") else {
            line.append(byte)
            continue
          }
          told.yield(String(decoding: line, as: UTF8.self))
          line.removeAll()
        }
        told.finish()
        close(file)
      }
      return lines
    }

    private static func exits(of process: pid_t) -> AsyncStream<CInt> {
      let (exits, exited) = AsyncStream<CInt>.makeStream()
      Thread.detachNewThread {
        var status: CInt = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        exited.yield(status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F))
        exited.finish()
      }
      return exits
    }
  }
#endif
