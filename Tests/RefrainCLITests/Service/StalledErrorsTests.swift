// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// `refrain serve` whose standard error is a pipe that nobody reads.
  @Suite(.timeLimit(.minutes(TestSeed.minutes(2))))
  struct StalledErrorsTests {
    /// A pipe that accepts no byte more.
    private final class FullPipe {
      private(set) var ends: [CInt] = [-1, -1]

      init() throws {
        let result = pipe(&ends)
        try #require(result == 0)
        for end in ends { try #require(fcntl(end, F_SETFD, FD_CLOEXEC) == 0) }
        try #require(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0)
        let block = [UInt8](repeating: UInt8(ascii: "x"), count: 4096)
        while write(ends[1], block, block.count) > 0 {}
        while write(ends[1], block, 1) > 0 {}
        try #require(errno == EAGAIN)
        // A writer waits, as with any pipe.
        try #require(fcntl(ends[1], F_SETFL, 0) == 0)
      }

      deinit { for end in ends where end >= 0 { close(end) } }
    }

    @Test func `An unread standard error delays neither a response nor the end`() async throws {
      let song = SyntheticBytes(seed: 1).bytes(in: 0..<5000)
      try await Program.withSong(song) { program, origin, _ in
        let pipe = try FullPipe()
        let serve = try RunningProgram(
          program,
          [
            "serve", "--port", "0", "--origin", origin.baseURL.absoluteString, "--quiet",
            "--log-level", "debug",
          ], errors: pipe.ends[1])
        let port = try port(try await serve.nextLine())
        // Each is a message.
        for number in 0..<20 {
          #expect(try await get("/missing-\(number)", at: port).status == 404)
          #expect(try await get("/song.flac", at: port).body == song)
        }
        serve.send(SIGTERM)
        #expect(await serve.end() == 128 + SIGTERM)
        withExtendedLifetime(pipe) {}
      }
    }

    @Test func `A second signal ends a draining proxy while a message waits`() async throws {
      let song = SyntheticBytes(seed: 2).bytes(in: 0..<5000)
      try await Program.withSong(song) { program, origin, _ in
        let pipe = try FullPipe()
        let serve = try RunningProgram(
          program,
          [
            "serve", "--port", "0", "--origin", origin.baseURL.absoluteString, "--quiet",
            "--admin", "127.0.0.1:0", "--drain", "3600", "--log-level", "debug",
          ], errors: pipe.ends[1])
        let port = try port(try await serve.nextLine())
        let admin = try self.port(try await serve.nextLine())
        #expect(try await get("/song.flac", at: port).body == song)
        serve.send(SIGTERM)
        try await eventually("it drains") { try await get("/health", at: admin).status == 503 }
        serve.send(SIGTERM)
        #expect(await serve.end() == 128 + SIGTERM)
        withExtendedLifetime(pipe) {}
      }
    }

    private func port(_ line: String) throws -> Int {
      let text = line.split(separator: " ").last.map(String.init) ?? ""
      return try #require(URL(string: text)?.port)
    }

    private func get(_ target: String, at port: Int) async throws -> Reply {
      try await RawConnection.open(port: port) {
        try await $0.reply(to: target, host: "127.0.0.1:\(port)")
      }
    }
  }
#endif
