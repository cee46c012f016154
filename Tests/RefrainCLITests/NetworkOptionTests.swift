// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// How the program reaches origins, by its options and its environment.
  @Suite(.timeLimit(.minutes(2)))
  struct NetworkOptionTests {
    /// Starts an origin that serves one small file to requests with the right password.
    private func origin() throws -> RawServer {
      try RawServer { connection in
        while true {
          let request = connection.readRequest()
          guard request.hasSuffix("\r\n\r\n") else { return }
          let isKnown = request.contains("Authorization: Basic bWU6c2VjcmV0\r\n")
          let (status, body) = isKnown ? ("200 OK", "song") : ("401 Unauthorized", "")
          connection.send(
            "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\nETag: \"1\"\r\n\r\n\(body)"
          )
        }
      }
    }

    @Test func `The --resolve and --netrc-file options apply to get and serve`() async throws {
      try await Program.with { program in
        let origin = try origin()
        defer { origin.stop() }
        let file = try program.write("machine song.example login me password secret\n", "netrc")
        let url = "http://song.example:\(origin.port)/a.mp3"
        let options = [
          "--netrc-file", file, "--resolve", "song.example:\(origin.port):127.0.0.1", "--interface",
          "127.0.0.1",
        ]
        let run = try await program.run(["get", "--output", "-"] + options + [url])
        #expect(run.status == 0 && run.output == "song", "\(run.errors)")

        // The proxy fetches and relays in the same way.
        let serve = try await program.serving(
          RunningProgram(
            program,
            ["serve", "--port", "0", "--quiet", "--origin", "http://song.example:\(origin.port)"]
              + options))
        for headers in [[], ["Cache-Control: no-store"]] {
          let reply = try await serve.get("/a.mp3", headers)
          #expect(reply.status == 200 && reply.body == Array("song".utf8))
        }
        await serve.stop()
      }
    }

    @Test
    func `Digest authentication uses the password of the URL or of --netrc-file`() async throws {
      try await Program.with { program in
        let origin = try DigestOrigin()
        defer { origin.stop() }
        let file = try program.write("machine 127.0.0.1 login anna password secret\n", "netrc")
        let plain = try origin.url("/b.mp3", user: nil).absoluteString
        for arguments in [
          [try origin.url("/a.mp3").absoluteString],
          ["--netrc-file", file, plain],
        ] {
          let run = try await program.run(["get", "--output", "-"] + arguments)
          #expect(run.status == 0 && run.output == "a song", "\(run.errors)")
        }
        let run = try await program.run(["get", plain + "?none"])
        #expect(run.status == 1 && run.errors.contains("401"), "\(run.errors)")
      }
    }

    @Test(arguments: [
      (["--netrc-file", "/nowhere/netrc"], "/nowhere/netrc cannot be read"),
      (["--cacert", "/nowhere/ca.pem"], "/nowhere/ca.pem cannot be read"),
      (["--netrc", "--netrc-file", "x"], "--netrc or --netrc-file"),
      (["--resolve", "song.example:127.0.0.1"], "host:port:address"),
      (["--resolve", "song.example:0:127.0.0.1"], "host:port:address"),
      (["--response-timeout", "0"], "a number of seconds"),
      (["--response-timeout", "1m"], "1m"),
    ])
    func `Invalid network options exit with 64`(_ options: [String], _ words: String) async throws {
      try await Program.with { program in
        let run = try await program.run(["get"] + options + ["http://127.0.0.1:1/a"])
        #expect(run.status == 64 && run.errors.contains(words), "\(run.errors)")
      }
    }

    @Test func `The --response-timeout option bounds the wait for an origin that is silent`()
      async throws
    {
      try await Program.withSong([1, 2, 3]) { program, origin, url in
        origin.script("/song.flac", .on(.all, .delay(nil)))
        let run = try await program.run("get", "--response-timeout", "1", url)
        #expect(run.status == 1 && run.errors.contains("was silent for too long"), "\(run.errors)")
        #expect(origin.log("/song.flac").requests.count == 1)
      }
    }

    @Test func `The --insecure option warns that no certificate is verified`() async throws {
      try await Program.with { program in
        let port = try RawServer.deafPort()
        let run = try await program.run(
          ["get", "--insecure", "https://127.0.0.1:\(port)/a"])
        #expect(run.status == 1 && run.errors.contains("no certificate is verified"))
        let careful = try await program.run(["get", "https://127.0.0.1:\(port)/a"])
        #expect(!careful.errors.contains("certificate"))
      }
    }

    /// The environment makes the proxy request itself.
    @Test
    func `A proxy whose environment points to itself ends the loop with an error`() async throws {
      try await Program.with { program in
        let port = try #require(FreePort.next())
        let serve = try RunningProgram(
          program, path: "/usr/bin/env",
          [
            "http_proxy=http://127.0.0.1:\(port)",
            Program.executable().path(percentEncoded: false), "serve", "--port", "\(port)",
            "--quiet", "--origin", "http://song.example",
          ])
        _ = try await serve.nextLine()
        let start = ContinuousClock.now
        let reply = try await Serving.get("/a.mp3", at: port)
        #expect(reply.status >= 400)
        #expect(ContinuousClock.now - start < .seconds(60))
        serve.send(SIGTERM)
        _ = await serve.end()
      }
    }
  }
#endif
