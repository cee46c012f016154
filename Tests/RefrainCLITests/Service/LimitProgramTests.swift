// SPDX-License-Identifier: MIT
#if os(Linux)
  import ArgumentParser
  import Foundation
  import OriginServer
  import Refrain
  import RefrainProxy
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// The limits of `refrain serve` from outside: each option limits what it names.
  @Suite(.timeLimit(.minutes(TestSeed.minutes(2))))
  struct LimitProgramTests {
    private static let song = SyntheticBytes(seed: 1).bytes(in: 0..<400_000)

    private func serve(
      _ program: Program, _ origin: OriginServer, _ options: String...
    ) async throws -> (RunningProgram, port: Int) {
      let running = try RunningProgram(
        program,
        ["serve", "--port", "0", "--origin", origin.baseURL.absoluteString, "--quiet"] + options)
      let base = try #require(URL(string: try await running.nextLine()))
      return (running, try #require(base.port))
    }

    private func get(_ port: Int, _ fields: [String] = []) async throws -> Reply {
      try await RawConnection.open(port: port) {
        try await $0.reply(to: "/song.flac", fields, host: "127.0.0.1:\(port)")
      }
    }

    private func end(_ running: RunningProgram) async {
      running.send(SIGTERM)
      #expect(await running.end() == 128 + SIGTERM)
    }

    /// Runs a test where the song is stored already.
    private func withStoredSong(
      _ body: (Program, OriginServer) async throws -> Void
    ) async throws {
      let fields = [Field("Cache-Control", "max-age=600")]
      try await Program.withSong(Self.song, headers: fields) { program, origin, _ in
        let (running, port) = try await serve(program, origin)
        #expect(try await get(port).body == Self.song)
        await end(running)
        try await body(program, origin)
      }
    }

    @Test func `The rate of the origin does not slow clients down`() async throws {
      try await withStoredSong { program, origin in
        // From the origin it would take more than six minutes.
        let (running, port) = try await serve(program, origin, "--origin-rate", "1K")
        #expect(try await get(port).body == Self.song)
        await end(running)
      }
    }

    @Test func `The rate of clients applies to what is stored`() async throws {
      try await withStoredSong { program, origin in
        let (running, port) = try await serve(program, origin, "--limit-rate", "64K")
        let start = ContinuousClock.now
        #expect(try await get(port, ["Range: bytes=0-199999"]).body.count == 200_000)
        // Two seconds and more, after an allowance of a second's.
        #expect(ContinuousClock.now - start >= .seconds(1))
        await end(running)
      }
    }

    @Test func `The rate of the origin applies to what is not stored`() async throws {
      try await Program.withSong(Self.song) { program, origin, _ in
        let (running, port) = try await serve(program, origin, "--origin-rate", "64K")
        let start = ContinuousClock.now
        #expect(try await get(port, ["Range: bytes=0-199999"]).body.count == 200_000)
        #expect(ContinuousClock.now - start >= .seconds(1))
        await end(running)
      }
    }

    @Test func `A client has so many connections, and the next one is refused`() async throws {
      try await withStoredSong { program, origin in
        let (running, port) = try await serve(program, origin, "--max-client-connections", "1")
        try await RawConnection.open(port: port) { first in
          let host = "127.0.0.1:\(port)"
          let before = try await first.reply(to: "/song.flac", host: host)
          // Not 503, which is for everybody's (`--max-connections`).
          let second = try await get(port)
          let after = try await first.reply(to: "/song.flac", host: host)
          #expect(before.status == 200 && second.status == 429 && after.status == 200)
        }
        await end(running)
      }
    }

    @Test func `The limits of the command line are those of the proxy and of the cache`() throws {
      let line = [
        "--max-connections", "90", "--max-client-connections", "3", "--request-rate", "7",
        "--limit-rate", "2M", "--origin-rate", "500K",
      ]
      let command = try ServeCommand.parse(line)
      let configuration = command.proxyConfiguration(token: "")
      #expect(configuration.maximumConnections == 90)
      #expect(configuration.clientLimits.connections == 3)
      #expect(configuration.clientLimits.requestsPerSecond == 7)
      #expect(configuration.clientLimits.bytesPerSecond == 2 << 20)
      #expect(command.limits.originRate == 500 << 10)
    }
  }
#endif
