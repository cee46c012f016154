// SPDX-License-Identifier: MIT
#if os(Linux)
  import ArgumentParser
  import Foundation
  import OriginServer
  import Refrain
  import RefrainProxy
  import RefrainServer
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// The limits of `refrain serve` from outside: each option limits what it names.
  @Suite(.timeLimit(.minutes(TestSeed.minutes(2))))
  struct LimitProgramTests {
    private static let song = SyntheticBytes(seed: 1).bytes(in: 0..<400_000)

    /// Runs a test where the song is stored already.
    private func withStoredSong(
      _ body: (Program, OriginServer) async throws -> Void
    ) async throws {
      try await Program.withSong(Self.song, headers: [.fresh]) { program, origin, _ in
        let serve = try await program.serve(of: origin)
        #expect(try await serve.get("/song.flac").body == Self.song)
        await serve.stop()
        try await body(program, origin)
      }
    }

    @Test func `The rate of clients applies to what is stored`() async throws {
      try await withStoredSong { program, origin in
        let serve = try await program.serve("--limit-rate", "64K", of: origin)
        let start = ContinuousClock.now
        #expect(try await serve.get("/song.flac", ["Range: bytes=0-199999"]).body.count == 200_000)
        // Two seconds and more, after an allowance of a second's.
        #expect(ContinuousClock.now - start >= .seconds(1))
        await serve.stop()
      }
    }

    @Test func `The rate of the origin applies to what is not stored`() async throws {
      try await Program.withSong(Self.song) { program, origin, _ in
        let serve = try await program.serve("--origin-rate", "64K", of: origin)
        let start = ContinuousClock.now
        #expect(try await serve.get("/song.flac", ["Range: bytes=0-199999"]).body.count == 200_000)
        #expect(ContinuousClock.now - start >= .seconds(1))
        await serve.stop()
      }
    }

    @Test func `Connections per client are limited, and the origin's rate slows no client down`()
      async throws
    {
      try await withStoredSong { program, origin in
        // From the origin the song would take more than six minutes.
        let serve = try await program.serve(
          "--max-client-connections", "1", "--origin-rate", "1K", of: origin)
        try await RawConnection.open(port: serve.port) { first in
          let host = "127.0.0.1:\(serve.port)"
          let before = try await first.reply(to: "/song.flac", host: host)
          // Not 503, which is for everybody's (`--max-connections`).
          let second = try await serve.get("/song.flac")
          let after = try await first.reply(to: "/song.flac", host: host)
          #expect(before.status == 200 && second.status == 429 && after.status == 200)
          #expect(before.body == Self.song)
        }
        await serve.stop()
      }
    }

    @Test func `The limits of the command line are those of the proxy and of the cache`() throws {
      let line = [
        "--max-connections", "90", "--max-client-connections", "3", "--request-rate", "7",
        "--limit-rate", "2M", "--origin-rate", "500K",
      ]
      let command = try ServeCommand.parse(line)
      let configuration = command.serverConfiguration(token: "")
      #expect(configuration.proxy.maximumConnections == 90)
      #expect(configuration.clientLimits.connections == 3)
      #expect(configuration.clientLimits.requestsPerSecond == 7)
      #expect(configuration.clientLimits.bytesPerSecond == 2 << 20)
      #expect(command.limits.originRate == 500 << 10)
    }
  }
#endif
