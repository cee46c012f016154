// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// `refrain serve --config` from outside: SIGHUP reads the file again.
  @Suite(.timeLimit(.minutes(TestSeed.minutes(2))))
  struct ReloadProgramTests {
    private func write(_ lines: [String], to file: URL) throws {
      try Data((lines + [""]).joined(separator: "\n").utf8).write(to: file)
    }

    /// Starts the program with a file of these lines.
    private func start(
      _ program: Program, _ file: URL, _ lines: [String], _ arguments: String...
    ) async throws -> (RunningProgram, base: URL) {
      try write(lines, to: file)
      let serve = try RunningProgram(
        program, ["serve", "--config", file.path(percentEncoded: false)] + arguments)
      return (serve, try #require(URL(string: try await serve.nextLine())))
    }

    private func status(_ url: String, through base: URL) async throws -> Int {
      let port = try #require(base.port)
      let target = base.path() + url.replacing("://", with: "/", maxReplacements: 1)
      return try await RawConnection.open(port: port) {
        try await $0.reply(to: target, host: "127.0.0.1:\(port)").status
      }
    }

    @Test func `SIGHUP allows a host without a new start, and a broken file changes nothing`()
      async throws
    {
      let song = SyntheticBytes(seed: 1).bytes(in: 0..<5000)
      try await Program.withSong(song) { program, origin, url in
        let file = program.directory.appending(path: "serve.conf")
        let allowed = "allow-host 127.0.0.1:\(origin.port)"
        let (serve, base) = try await start(
          program, file, ["port 0", "quiet", "log-level info", "allow-host example.org"])
        #expect(try await status(url, through: base) == 403)
        try write(["port 0", "quiet", "log-level info", "# more", allowed], to: file)
        serve.send(SIGHUP)
        try await eventually("the host is allowed") {
          try await status(url, through: base) == 200
        }
        // 'refrain url' knows the hosts too.
        try await eventually("the record has the host") {
          try await program.run("url", url).status == 0
        }
        #expect(try await program.run("url", "http://example.org/a").status == 1)
        try await eventually("it is reported") {
          serve.errors.contains("was read again; changed: allow-host.\n")
        }

        for (lines, reason) in [
          (["port 0", "alow-host example.org"], "line 2: Unknown option"),
          (["port 0", "allow-host a b"], "line 2: "), (["port 0", "limit 5Q"], "line 2: "),
        ] {
          try write(lines, to: file)
          let count = serve.errors.components(separatedBy: "Nothing was changed.").count
          serve.send(SIGHUP)
          try await eventually("the error is reported") {
            serve.errors.components(separatedBy: "Nothing was changed.").count == count + 1
          }
          #expect(serve.errors.contains(reason), "\(serve.errors)")
          #expect(try await status(url, through: base) == 200)
        }
        try FileManager.default.removeItem(at: file)
        serve.send(SIGHUP)
        try await eventually("it is missing") { serve.errors.contains("No such file") }
        #expect(try await status(url, through: base) == 200)
        serve.send(SIGTERM)
        #expect(await serve.end() == 128 + SIGTERM)
      }
    }

    @Test func `What cannot change is reported and left, and the rest applies`() async throws {
      try await Program.withSong([1, 2, 3]) { program, origin, url in
        let file = program.directory.appending(path: "serve.conf")
        let (serve, base) = try await start(program, file, ["port 0", "quiet"])
        #expect(try await status(url, through: base) == 200)
        // Messages of this level are written from then on. One request, and the next one in 1000 s.
        try write(
          [
            "port 1", "quiet", "name tv.lan", "log-level info", "request-rate 0.001",
            "max-connections 50",
          ], to: file)
        serve.send(SIGHUP)
        try await eventually("both are reported") {
          serve.errors.contains("name, port: takes effect at the next start.")
            && serve.errors.contains("changed: log-level, max-connections, request-rate.")
        }
        for _ in 0..<10 { #expect(try await status(url, through: base) == 200) }
        #expect(try await status(url, through: base) == 429)
        // As it was started: nothing is left to report.
        try write(["port 0", "quiet", "log-level info"], to: file)
        serve.send(SIGHUP)
        try await eventually("the limit is gone") { try await status(url, through: base) == 200 }
        #expect(serve.errors.components(separatedBy: "next start").count == 2)
        serve.send(SIGTERM)
        #expect(await serve.end() == 128 + SIGTERM)
      }
    }

    @Test func `SIGHUP while the program starts has the file read once more`() async throws {
      try await Program.with { program in
        let file = program.directory.appending(path: "serve.conf")
        // The program has yet to parse these lines when the signal arrives.
        let hosts = (0..<500).map { "allow-host h\($0).example.org" }
        try write(["port 0", "quiet", "log-level info"] + hosts, to: file)
        let opening = try FileOpening(of: file)
        let serve = try RunningProgram(
          program, ["serve", "--config", file.path(percentEncoded: false)])
        try await eventually("the file is opened") { opening.hasHappened }
        serve.send(SIGHUP)
        _ = try await serve.nextLine()
        try await eventually("it is read again") {
          serve.errors.contains("was read again; nothing changed.\n")
        }
        serve.send(SIGTERM)
        #expect(await serve.end() == 128 + SIGTERM)
      }
    }

    @Test func `Without a configuration file, SIGHUP ends the program`() async throws {
      try await Program.with { program in
        let serve = try RunningProgram(program, ["serve", "--port", "0", "--quiet"])
        _ = try await serve.nextLine()
        serve.send(SIGHUP)
        #expect(await serve.end() == -SIGHUP)
      }
    }

    @Test func `Without a configuration file, SIGHUP stays ignored as by nohup`() async throws {
      try await Program.with { program in
        let serve = try RunningProgram(
          program, path: "/bin/sh",
          [
            "-c", #"trap '' HUP; exec "$@""#, "sh", Program.executable().path(), "serve", "--port",
            "0", "--quiet",
          ])
        _ = try await serve.nextLine()
        serve.send(SIGHUP)
        serve.send(SIGTERM)
        #expect(await serve.end() == 128 + SIGTERM)
      }
    }

    @Test func `A file with an error ends the start with one line and 64`() async throws {
      try await Program.with { program in
        let file = program.directory.appending(path: "serve.conf")
        try write(["# one", "port 0", "limt 5G"], to: file)
        let path = file.path(percentEncoded: false)
        let run = try await program.run("serve", "--config", path)
        #expect(run.status == 64 && run.output.isEmpty && run.errorLines.count == 1)
        #expect(run.errors.contains("\(path), line 3: ") && run.errors.contains("--limit"))
        let missing = try await program.run("serve", "--config", path + ".none")
        #expect(missing.status == 64 && missing.errorLines.count == 1)
      }
    }
  }
#endif
