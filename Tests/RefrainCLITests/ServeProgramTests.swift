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
    private func port(_ text: String) throws -> Int {
      let url = try #require(URL(string: text))
      return try #require(url.port)
    }

    @Test func `The proxy first prints its URL, and ends at a signal`() async throws {
      // Dispatch once lost one of a hundred signals.
      let rounds = TestSeed.isSoak ? 200 : 4
      try await Program.with { program in
        for round in 0..<rounds {
          let signal = round.isMultiple(of: 2) ? SIGTERM : SIGINT
          let serve = try RunningProgram(program, ["serve", "--port", "0"])
          let base = try await serve.nextLine()
          #expect(base.hasPrefix("http://127.0.0.1:") && base.hasSuffix("/"))
          #expect(FreePort.accepts(try port(base)))
          serve.send(signal)
          #expect(await serve.end() == 128 + signal)
          #expect(serve.errors.isEmpty)
          #expect(!FreePort.accepts(try port(base)))
        }
      }
    }

    @Test func `Proxy URLs keep their path across runs`() async throws {
      try await Program.with { program in
        let before = try await program.run("url", "https://example.org/a.flac")
        #expect(before.output.hasPrefix("http://127.0.0.1:8573/"))
        var paths: Set<String> = [try #require(URL(string: String(before.lines[0]))).path()]
        for _ in 0..<2 {
          let serve = try RunningProgram(program, ["serve", "--port", "0", "--quiet"])
          let base = try await serve.nextLine()
          let url = try await program.run("url", "https://example.org/a.flac")
          #expect(url.output.hasPrefix(base))
          paths.insert(try #require(URL(string: String(url.lines[0]))).path())
          serve.send(SIGTERM)
          _ = await serve.end()
          // Also when the proxy does not run.
          #expect(try await program.run("url", "https://example.org/a.flac").output == url.output)
        }
        #expect(paths.count == 1)
      }
    }

    @Test func `The serve and url commands print JSON objects with --json`() async throws {
      try await Program.with { program in
        let serve = try RunningProgram(program, ["serve", "--port", "0", "--json"])
        let line = try await serve.nextLine()
        let object = try #require(
          try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(object["event"] as? String == "listening")
        let url = try #require(object["url"] as? String)
        #expect(object["port"] as? Int == (try port(url)))
        let run = try await program.run("url", "--json", "https://example.org/a.flac")
        let all = try #require(
          try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [[String: String]])
        #expect(all.first?["url"] == "https://example.org/a.flac")
        #expect(all.first?["proxied"]?.hasPrefix(url) == true)
        serve.send(SIGTERM)
        _ = await serve.end()
      }
    }

    @Test func `A second proxy on the same port fails and names the port`() async throws {
      try await Program.with { program in
        let serve = try RunningProgram(program, ["serve", "--port", "0"])
        let port = try port(try await serve.nextLine())
        let second = try await program.run("serve", "--port", "\(port)")
        #expect(second.status == 1)
        #expect(second.output.isEmpty)
        #expect(second.errorLines.count == 1)
        #expect(second.errors.contains("127.0.0.1:\(port)") && second.errors.contains("--port"))
        // The operator's port has an option of its own.
        let third = try await program.run("serve", "--port", "0", "--admin", "\(port)")
        #expect(third.status == 1 && third.output.isEmpty)
        #expect(third.errors.contains("127.0.0.1:\(port)") && third.errors.contains("--admin"))
        serve.send(SIGTERM)
        _ = await serve.end()
      }
    }

    @Test func `Invalid options of serve fail with one line`() async throws {
      try await Program.with { program in
        for line in [
          ["--allow-host", "a b"], ["--origin", "https://example.org/?a=b"],
          ["--name", "https://media.example.org"],
        ] {
          let serve = try RunningProgram(program, ["serve", "--port", "0"] + line)
          #expect(await serve.end() == 64)
          #expect(serve.errors.split(separator: "\n").count == 1)
        }
        // A documentation address (RFC 5737), which belongs to no computer.
        let run = try await program.run(
          "serve", "--listen", "192.0.2.1:0", "--allow-host", "example.org")
        #expect(run.status == 1)
        #expect(run.output.isEmpty && run.errorLines.count == 1)
      }
    }

    @Test func `URLs of a proxied origin keep their path`() async throws {
      try await Program.with { program in
        let serve = try RunningProgram(
          program, ["serve", "--port", "0", "--origin", "https://example.org"])
        let base = try await serve.nextLine()
        #expect(base == "http://127.0.0.1:\(try port(base))/")
        let url = try await program.run("url", "https://example.org/a/b.flac")
        #expect(url.output == "\(base)a/b.flac\n")
        let other = try await program.run("url", "https://example.com/a/b.flac")
        #expect(other.status == 1)
        #expect(other.output.isEmpty && other.errorLines.count == 1)
        serve.send(SIGTERM)
        _ = await serve.end()
      }
    }

    @Test func `A record that other users can read is refused`() async throws {
      try await Program.with { program in
        _ = try await program.run("url", "https://example.org/a.flac")
        let path = program.cache.appending(path: ProxyFile.name).path()
        chmod(path, 0o644)
        for line in [["serve", "--port", "0"], ["url", "https://example.org/a.flac"]] {
          let running = try RunningProgram(program, line)
          #expect(await running.end() == 1)
          #expect(running.errors.split(separator: "\n").count == 1)
          #expect(running.errors.contains(path))
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
  }
#endif
