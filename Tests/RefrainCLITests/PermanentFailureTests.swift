// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import FoundationNetworking
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// Permanent failures end the program soon, with a text that names the remedy; the proxy responds
  /// with the same text.
  @Suite(.timeLimit(.minutes(2)))
  struct PermanentFailureTests {
    /// Runs `body` with a server whose certificate is self-signed.
    private func withUntrustedServer(
      _ program: Program, _ body: (_ url: String) async throws -> Void
    ) async throws {
      let openssl = try RequiredProgram.openssl.path.path(percentEncoded: false)
      let (key, certificate) = (program.path("key.pem"), program.path("certificate.pem"))
      let request = try RunningProgram(
        program, path: openssl,
        [
          "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
          "-days", "2", "-subj", "/CN=localhost", "-keyout", key, "-out", certificate,
        ])
      #expect(await request.end() == 0, "\(request.errors)")
      let server = try RunningProgram(
        program, path: openssl,
        ["s_server", "-accept", "127.0.0.1:0", "-key", key, "-cert", certificate, "-www"])
      var port: Int?
      while port == nil {
        let line = try await server.nextLine()
        if line.hasPrefix("ACCEPT") { port = line.split(separator: ":").last.flatMap { Int($0) } }
      }
      try await body("https://127.0.0.1:\(try #require(port))/a.mp3")
      server.send(SIGTERM)
      _ = await server.end()
    }

    /// Checks the texts of the program and the proxy for a URL.
    private func expect(
      _ words: [String], of url: String, _ program: Program,
      sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
      let start = ContinuousClock.now
      let run = try await program.run("get", url)
      #expect(run.status == 1, sourceLocation: sourceLocation)
      let (body, _) = try await URLSession.shared.data(from: program.proxied(url))
      // Retries would take half a minute.
      #expect(ContinuousClock.now - start < .seconds(20), sourceLocation: sourceLocation)
      for text in [run.errors, String(decoding: body, as: UTF8.self)] {
        for word in words {
          #expect(text.contains(word), "\(text)", sourceLocation: sourceLocation)
        }
        #expect(!text.contains("Check the network"), "\(text)", sourceLocation: sourceLocation)
      }
    }

    @Test(.enabled(if: RequiredProgram.openssl.isUsable))
    func `A self-signed certificate is reported as not trusted`() async throws {
      try await Program.with { program in
        try await withUntrustedServer(program) { url in
          let serve = try await program.serve()
          try await expect(
            [
              "The certificate of 127.0.0.1 is not trusted",
              "this machine's clock and its certificates",
            ],
            of: url, program)
          await serve.stop()
        }
      }
    }

    @Test func `The errors for wrong hosts, ports and schemes suggest what to check`() async throws
    {
      try await Program.with { program in
        let server = try RawServer { connection in
          _ = connection.readRequest()
          connection.send("SSH-2.0-OpenSSH_9.6\r\n")
          connection.waitForEnd()
        }
        defer { server.stop() }
        let serve = try await program.serve()
        try await expect(
          ["host.invalid", "Check the spelling"], of: "http://host.invalid/a.mp3", program)
        let port = try RawServer.deafPort()
        try await expect(
          ["127.0.0.1 refused the connection", "Check the port"],
          of: "http://127.0.0.1:\(port)/a.mp3", program)
        try await expect(
          ["127.0.0.1", "HTTP", "Check the port and the scheme"],
          of: try server.url().absoluteString, program)
        await serve.stop()
      }
    }
  }
#endif
