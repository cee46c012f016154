// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import FoundationNetworking
  import OriginServer
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// `refrain serve` and `refrain url` from outside.
  @Suite(.timeLimit(.minutes(TestSeed.minutes(2))))
  struct ServeProgramTests {
    @Test func `The proxy first prints its URL, and ends at a signal`() async throws {
      // Dispatch once lost one of a hundred signals.
      let rounds = TestSeed.isSoak ? 200 : 2
      try await Program.with { program in
        for round in 0..<rounds {
          let serve = try await program.serving(
            RunningProgram(program, ["serve", "--port", "0"]))
          #expect(serve.base.hasPrefix("http://127.0.0.1:") && serve.base.hasSuffix("/"))
          #expect(FreePort.accepts(serve.port))
          await serve.stop(round.isMultiple(of: 2) ? SIGTERM : SIGINT)
          #expect(!FreePort.accepts(serve.port))
        }
      }
    }

    @Test func `The proxy raises its limit of open files to the greatest permitted one`()
      async throws
    {
      try await Program.with { program in
        let script = #"ulimit -S -n 100; ulimit -H -n 300; exec "$0" serve --quiet --port 0"#
        let executable = try Program.executable().path(percentEncoded: false)
        let serve = try await program.serving(
          RunningProgram(program, path: "/bin/bash", ["-c", script, executable]))
        let limits = try String(
          contentsOfFile: "/proc/\(serve.running.process)/limits", encoding: .utf8)
        let line = try #require(
          limits.split(separator: "\n").first { $0.hasPrefix("Max open files") })
        // The soft limit, and the hard one.
        #expect(line.split { !$0.isNumber } == ["300", "300"], "\(line)")
        await serve.stop()
      }
    }

    @Test func `Proxy URLs keep their path across runs`() async throws {
      try await Program.with { program in
        let before = try await program.run("url", "https://example.org/a.flac")
        #expect(before.output.hasPrefix("http://127.0.0.1:8573/"))
        let path = try #require(URL(string: String(before.lines[0]))).path()
        for _ in 0..<2 {
          let serve = try await program.serve()
          let url = try await program.proxied("https://example.org/a.flac")
          #expect(url.absoluteString.hasPrefix(serve.base) && url.path() == path)
          await serve.stop()
          // Also when the proxy does not run.
          #expect(try await program.proxied("https://example.org/a.flac") == url)
        }
      }
    }

    @Test func `The serve and url commands print JSON objects with --json`() async throws {
      try await Program.with { program in
        let serve = try RunningProgram(program, ["serve", "--port", "0", "--json"])
        let object = try JSONObject.read(try await serve.nextLine())
        #expect(object["event"] as? String == "listening")
        let url = try #require(object["url"] as? String)
        #expect(object["port"] as? Int == URL(string: url)?.port)
        let all = try await program.run("url", "--json", "https://example.org/a.flac").objects
        #expect(all.first?["url"] as? String == "https://example.org/a.flac")
        #expect((all.first?["proxied"] as? String)?.hasPrefix(url) == true)
        serve.send(SIGTERM)
        _ = await serve.end()
      }
    }

    @Test func `A second proxy on the same port fails and names the remedies`() async throws {
      try await Program.with { program in
        let serve = try await program.serve()
        let second = try await program.run("serve", "--port", "\(serve.port)")
        #expect(second.status == 1 && second.output.isEmpty)
        #expect(second.errorLines.count == 1)
        for words in ["127.0.0.1:\(serve.port)", "--port", "'refrain url'"] {
          #expect(second.errors.contains(words), "\(second.errors)")
        }
        // The operator's port has an option of its own.
        let third = try await program.run("serve", "--port", "0", "--admin", "\(serve.port)")
        #expect(third.status == 1 && third.output.isEmpty)
        #expect(third.errors.contains("127.0.0.1:\(serve.port)"))
        #expect(third.errors.contains("--admin"))
        await serve.stop()
      }
    }

    @Test func `Invalid options of serve fail with one line`() async throws {
      try await Program.with { program in
        for line in [
          ["--allow-host", "a b"], ["--origin", "https://example.org/?a=b"],
          ["--name", "https://media.example.org"],
        ] {
          let run = try await program.run(["serve", "--port", "0"] + line)
          #expect(run.status == 64 && run.errorLines.count == 1)
        }
        // A proxy of one origin has no page to open.
        let open = try await program.run("serve", "--origin", "https://example.org", "--open")
        #expect(open.status == 64 && open.errors.contains("--open"))
        // A documentation address (RFC 5737), which belongs to no computer.
        let run = try await program.run(
          "serve", "--listen", "192.0.2.1:0", "--allow-host", "example.org")
        #expect(run.status == 1)
        #expect(run.output.isEmpty && run.errorLines.count == 1)
      }
    }

    @Test(arguments: [408, 500, 502, 503, 504, 599])
    func `A client of one origin receives its error for one request`(_ status: Int) async throws {
      try await Program.withSong([1]) { program, origin, _ in
        origin.script("/a.mp3", .on(.all, .status(status, body: Array("no".utf8))))
        let serve = try await program.serve(of: origin)
        for count in 1...2 {
          let reply = try await serve.get("/a.mp3")
          #expect(reply.status == status && reply.body == Array("no".utf8))
          #expect(origin.log("/a.mp3").requests.count == count)
        }
        await serve.stop()
      }
    }

    @Test func `URLs of a proxied origin keep their path`() async throws {
      try await Program.with { program in
        let serve = try await program.serve("--origin", "https://example.org")
        #expect(serve.base == "http://127.0.0.1:\(serve.port)/")
        let url = try await program.run("url", "https://example.org/a/b.flac")
        #expect(url.output == "\(serve.base)a/b.flac\n")
        let other = try await program.run("url", "https://example.com/a/b.flac")
        #expect(other.status == 1)
        #expect(other.output.isEmpty && other.errorLines.count == 1)
        await serve.stop()
      }
    }

    @Test func `A record that other users can read is refused`() async throws {
      try await Program.with { program in
        _ = try await program.run("url", "https://example.org/a.flac")
        let path = program.cache.appending(path: ProxyFile.name).path()
        chmod(path, 0o644)
        for line in [["serve", "--port", "0"], ["url", "https://example.org/a.flac"]] {
          let run = try await program.run(line)
          #expect(run.status == 1 && run.errorLines.count == 1)
          #expect(run.errors.contains(path))
        }
      }
    }

    @Test func `The proxy keeps serving after its output is closed`() async throws {
      try await Program.with { program in
        // The shell's `read` takes the first line; after that the pipe has no reader.
        let script = """
          "$1" serve --port 0 > "$2/pipe" & process=$!
          read -r base < "$2/pipe"; echo "$base"
          read -r _ < "$2/go"; kill -TERM $process; wait $process; echo "ended $?"
          """
        let directory = program.directory.path(percentEncoded: false)
        mkfifo(directory + "/pipe", 0o600)
        mkfifo(directory + "/go", 0o600)
        let shell = try RunningProgram(
          program, path: "/bin/sh",
          ["-c", script, "sh", Program.executable().path(), directory])
        let base = try await shell.nextLine()
        let url = try #require(URL(string: "\(base)x"))
        for _ in 0..<3 { _ = try await URLSession.shared.data(from: url) }
        // Opening a pipe waits for its other end: the shell has opened it, or will soon.
        let go = try FileHandle(forWritingTo: URL(filePath: directory + "/go"))
        try go.write(contentsOf: Data("\n".utf8))
        #expect(try await shell.nextLine() == "ended 143")
      }
    }

    // MARK: The page

    private func openingServe(_ program: Program, path: String) async throws -> Serving {
      try await program.serving(
        RunningProgram(
          program, path: "/usr/bin/env",
          [
            "PATH=\(path)", try Program.executable().path(percentEncoded: false), "serve",
            "--port", "0", "--open",
          ]))
    }

    @Test func `The page opens without its token among the arguments of a program`() async throws {
      try await Program.with { program in
        let folder = program.directory
        // Stands for the desktop's program.
        let browser = try program.write(
          "#!/bin/sh\necho \"$*\" > '\(folder.path())/said.new'\n"
            + "cp \"$1\" '\(folder.path())/opened' && mv '\(folder.path())/said.new' "
            + "'\(folder.path())/said'\n", BrowserOpening.program)
        chmod(browser, 0o700)
        let serve = try await openingServe(program, path: "\(folder.path()):/usr/bin:/bin")
        let said = program.path("said")
        try await eventually("the browser is asked") {
          FileManager.default.fileExists(atPath: said)
        }
        let arguments = try String(contentsOfFile: said, encoding: .utf8)
        let token = try #require(serve.base.split(separator: "/").last)
        #expect(!arguments.contains(token))
        let opened = try String(
          contentsOf: folder.appending(path: "opened"), encoding: .utf8)
        #expect(opened.contains("url=\(serve.base)\""))
        let file = arguments.trimmingCharacters(in: .whitespacesAndNewlines)
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]
        #expect(mode as? Int == 0o600)
        await serve.stop()
      }
    }

    @Test func `Without a browser the proxy says so and serves`() async throws {
      try await Program.with { program in
        let folder = program.directory.appending(path: "empty")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let serve = try await openingServe(program, path: folder.path())
        try await eventually("the failure is reported") { serve.errors.contains("browser") }
        #expect(serve.errors.split(separator: "\n").count == 1)
        #expect(FreePort.accepts(serve.port))
      }
    }
  }
#endif
