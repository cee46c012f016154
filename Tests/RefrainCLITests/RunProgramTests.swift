// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  /// `refrain run` from outside: the environment of its child, and the child's end.
  @Suite(.timeLimit(.minutes(2)))
  struct RunProgramTests {
    /// A script that waits for signals without a child process to wait for.
    private static let waiting = "echo ready; while :; do sleep 0.02; done"

    @Test func `URLs are replaced, and other arguments are unchanged`() async throws {
      try await Program.with { program in
        let run = try await program.run(
          "run", "--", "sh", "-c", #"printf '%s\n' "$@""#, "sh", "https://example.org/a.flac",
          "--file=https://example.org/b.flac", "plain", "--http-proxy=http://p:1", "a b")
        #expect(run.status == 0)
        #expect(run.errors.isEmpty)
        let lines = run.lines.map(String.init)
        try #require(lines.count == 5)
        #expect(lines[0].hasPrefix("http://127.0.0.1:") && lines[0].hasSuffix("example.org/a.flac"))
        #expect(lines[1].hasPrefix("--file=http://127.0.0.1:"))
        #expect(lines[1].hasSuffix("example.org/b.flac"))
        #expect(Array(lines[2...]) == ["plain", "--http-proxy=http://p:1", "a b"])
      }
    }

    @Test(arguments: [0, 3, 64, 255] as [CInt])
    func `The exit code is that of the program`(_ code: CInt) async throws {
      try await Program.with { program in
        let run = try await program.run("run", "--", "sh", "-c", "exit \(code)")
        #expect(run.status == code)
        #expect(run.output.isEmpty && run.errors.isEmpty)
      }
    }

    @Test(arguments: [SIGTERM, SIGKILL, SIGINT, SIGPIPE])
    func `A program ended by a signal exits with 128 plus the signal number`(
      _ signal: CInt
    ) async throws {
      try await Program.with { program in
        let run = try await program.run("run", "--", "sh", "-c", "kill -\(signal) $$")
        #expect(run.status == 128 + signal)
        #expect(run.errors.isEmpty)
      }
    }

    @Test func `A program that cannot be run is reported`() async throws {
      try await Program.with { program in
        let missing = try await program.run("run", "--", "no-such-program", "https://h/a")
        #expect(missing.status == 127)
        #expect(missing.errorLines.count == 1 && missing.errors.contains("no-such-program"))
        let file = try program.write("#!/bin/sh\n", "file")
        let barred = try await program.run("run", "--", file)
        #expect(barred.status == 126)
        #expect(barred.errorLines.count == 1 && barred.errors.contains(file))
        let shell = try await program.run("run", "--", "\(file)/no")
        #expect(shell.status == 127)
        #expect(shell.errorLines.count == 1)
      }
    }

    @Test func `Standard input is passed to the program`() async throws {
      try await Program.with { program in
        let run = try await program.run("run", "--", "cat", input: "one\ntwo\n")
        #expect(run.output == "one\ntwo\n")
        #expect(run.status == 0)
      }
    }

    @Test func `A program inherits descriptors, limits and signal state unchanged`() async throws {
      try await Program.with { program in
        let lookup = """
          ls -1 /proc/self/fd | wc -l; ulimit -n; grep -E 'SigBlk|SigIgn' /proc/self/status
          """
        // One shell, which has the same files open for both.
        let shell = try RunningProgram(
          program, path: "/bin/sh",
          [
            "-c", #"sh -c "$1"; "$2" run -- sh -c "$1""#, "sh", lookup, Program.executable().path(),
          ])
        var told: [String] = []
        for await line in shell.lines { told.append(line) }
        #expect(await shell.end() == 0)
        #expect(told.count == 8)
        #expect(told.prefix(4) == told.suffix(4))
      }
    }

    @Test func `A signal is forwarded to the program once`() async throws {
      try await Program.with { program in
        let signals = [SIGTERM, SIGHUP, SIGUSR1, SIGQUIT, SIGINT]
        let traps = signals.map { "trap 'echo got \($0)' \($0); " }.joined()
        let running = try RunningProgram(
          program, ["run", "--", "sh", "-c", "\(traps)trap 'exit 7' USR2; \(Self.waiting)"])
        #expect(try await running.nextLine() == "ready")
        for signal in signals {
          running.send(signal)
          #expect(try await running.nextLine() == "got \(signal)")
        }
        running.send(SIGUSR2)
        #expect(await running.end() == 7)
        // None comes a second time.
        for await line in running.lines { Issue.record("came too: \(line)") }
        #expect(running.errors.isEmpty)
      }
    }

    @Test func `A signal that ends the program ends the run, too`() async throws {
      try await Program.with { program in
        let running = try RunningProgram(program, ["run", "--", "sh", "-c", Self.waiting])
        #expect(try await running.nextLine() == "ready")
        running.send(SIGTERM)
        #expect(await running.end() == 143)
        #expect(running.errors.isEmpty)
      }
    }

    /// A terminal sends SIGINT to all processes in its foreground.
    @Test(.enabled(if: RequiredProgram.python3.isUsable))
    func `The program receives Control-C once`() async throws {
      try await Program.with { program in
        let inner = "trap 'echo GOT' INT; trap 'exit 7' USR2; \(Self.waiting)"
        let script = #"""
          import os, pty, signal, sys
          process, terminal = pty.fork()
          if process == 0:
              os.execv(sys.argv[1], [sys.argv[1], "run", "--", "sh", "-c", sys.argv[2]])
          told = b""
          def until(word):
              global told
              while word not in told:
                  told += os.read(terminal, 4096)
          until(b"ready")
          os.write(terminal, b"\x03")
          until(b"GOT")
          os.kill(process, signal.SIGUSR2)
          try:
              while True:
                  part = os.read(terminal, 4096)
                  if not part: break
                  told += part
          except OSError:
              pass
          _, status = os.waitpid(process, 0)
          print(told.count(b"GOT"), os.waitstatus_to_exitcode(status))
          """#
        let python = try RunningProgram(
          program, path: RequiredProgram.python3.path.path(),
          ["-c", script, Program.executable().path(), inner])
        #expect(try await python.nextLine() == "1 7")
        #expect(await python.end() == 0)
      }
    }

    @Test func `Ignored signals stay ignored`() async throws {
      try await Program.with { program in
        let script = #"trap '' HUP; exec "$1" run -- sh -c 'kill -HUP $PPID $$; exit 7'"#
        let shell = try RunningProgram(
          program, path: "/bin/sh", ["-c", script, "sh", Program.executable().path()])
        #expect(await shell.end() == 7)
      }
    }
  }
#endif
