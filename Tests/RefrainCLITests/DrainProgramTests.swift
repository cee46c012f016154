// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// `refrain serve --drain` from outside.
  @Suite(.timeLimit(.minutes(TestSeed.minutes(2))))
  struct DrainProgramTests {
    private func port(_ line: String) throws -> Int {
      let text = line.split(separator: " ").last.map(String.init) ?? ""
      return try #require(URL(string: text)?.port)
    }

    private func get(_ target: String, at port: Int) async throws -> Reply {
      try await RawConnection.open(port: port) {
        try await $0.reply(to: target, host: "127.0.0.1:\(port)")
      }
    }

    @Test func `At SIGTERM a node reports 503 and serves on, until a second signal`() async throws {
      let song = SyntheticBytes(seed: 1).bytes(in: 0..<5000)
      try await Program.withSong(song) { program, origin, _ in
        let serve = try RunningProgram(
          program,
          [
            "serve", "--port", "0", "--origin", origin.baseURL.absoluteString, "--quiet",
            "--admin", "127.0.0.1:0", "--drain", "3600", "--node-name", "a1",
          ])
        let publicPort = try port(try await serve.nextLine())
        let adminPort = try port(try await serve.nextLine())
        #expect(try await get("/health", at: adminPort).status == 200)
        serve.send(SIGTERM)
        try await eventually("the node drains") {
          try await get("/health", at: adminPort).status == 503
        }
        let reply = try await get("/song.flac", at: publicPort)
        #expect(reply.body == song)
        #expect(reply["Cache-Status"]?.hasPrefix("a1; ") == true)
        serve.send(SIGTERM)
        #expect(await serve.end() == 128 + SIGTERM)
        #expect(serve.errors.isEmpty)
        #expect(!FreePort.accepts(adminPort) && !FreePort.accepts(publicPort))
      }
    }

    @Test func `A node ends by itself when it has drained`() async throws {
      try await Program.with { program in
        let serve = try RunningProgram(
          program, ["serve", "--port", "0", "--quiet", "--drain", "1"])
        let publicPort = try port(try await serve.nextLine())
        let start = ContinuousClock.now
        serve.send(SIGTERM)
        #expect(await serve.end() == 128 + SIGTERM)
        #expect(ContinuousClock.now - start >= .seconds(1))
        #expect(!FreePort.accepts(publicPort))
      }
    }
  }
#endif
