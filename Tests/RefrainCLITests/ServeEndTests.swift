// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  /// The end of `refrain serve`: `--drain`, a second signal, responses in progress, and a standard
  /// error that nobody reads.
  @Suite(.timeLimit(.minutes(TestSeed.minutes(2))))
  struct ServeEndTests {
    private static let song = SyntheticBytes(seed: 1).bytes(in: 0..<700_000)

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

    @Test func `At SIGTERM a node reports 503 and serves on, until a second signal`() async throws {
      try await Program.withSong(Self.song) { program, origin, _ in
        let serve = try await program.serve(
          "--admin", "127.0.0.1:0", "--drain", "3600", "--node-name", "a1", of: origin)
        let admin = try await serve.nextPort()
        #expect(try await Serving.get("/health", at: admin).status == 200)
        serve.running.send(SIGTERM)
        try await eventually("the node drains") {
          try await Serving.get("/health", at: admin).status == 503
        }
        let reply = try await serve.get("/song.flac")
        #expect(reply.body == Self.song)
        #expect(reply["Cache-Status"]?.hasPrefix("a1; ") == true)
        await serve.stop()
        #expect(!FreePort.accepts(admin) && !FreePort.accepts(serve.port))
      }
    }

    @Test func `A node ends by itself when it has drained`() async throws {
      try await Program.with { program in
        let serve = try await program.serve("--drain", "1")
        let start = ContinuousClock.now
        await serve.stop()
        #expect(ContinuousClock.now - start >= .seconds(1))
        #expect(!FreePort.accepts(serve.port))
      }
    }

    @Test func `A response in progress is completed after a signal`() async throws {
      try await withStalledResponse { serve, origin, response in
        origin.release("/song.flac")
        try await #expect(response.value.body == Self.song)
        #expect(await serve.running.end() == 128 + SIGTERM)
      }
    }

    @Test func `A second signal ends the proxy without waiting for responses`() async throws {
      try await withStalledResponse { serve, origin, response in
        serve.running.send(SIGINT)
        #expect(await serve.running.end() == 128 + SIGINT)
        let received = try? await response.value.body
        #expect(received != Self.song)
        origin.release("/song.flac")
      }
    }

    /// Runs `body` after the first signal, while the origin has sent a part of a response.
    private func withStalledResponse(
      _ body: (Serving, OriginServer, Task<Reply, any Error>) async throws -> Void
    ) async throws {
      try await Program.withSong(Self.song) { program, origin, _ in
        origin.script("/song.flac", .on(.all, .stall(at: .resource(500_000))))
        let serve = try await program.serve(of: origin)
        let port = serve.port
        let response = Task { try await Serving.get("/song.flac", at: port) }
        try await eventually("stalled") { origin.log("/song.flac").stalled > 0 }
        serve.running.send(SIGTERM)
        try await eventually("closed") { !FreePort.accepts(port) }
        try await body(serve, origin, response)
      }
    }

    @Test
    func `An unread standard error delays neither a response nor a second signal`() async throws {
      try await Program.withSong(Self.song) { program, origin, _ in
        let pipe = try FullPipe()
        let serve = try await program.serve(
          "--admin", "127.0.0.1:0", "--drain", "3600", "--log-level", "debug", of: origin,
          errors: pipe.ends[1])
        let admin = try await serve.nextPort()
        // Each is a message.
        for number in 0..<20 {
          #expect(try await serve.get("/missing-\(number)").status == 404)
          #expect(try await serve.get("/song.flac").body == Self.song)
        }
        serve.running.send(SIGTERM)
        try await eventually("it drains") {
          try await Serving.get("/health", at: admin).status == 503
        }
        await serve.stop()
        withExtendedLifetime(pipe) {}
      }
    }
  }
#endif
