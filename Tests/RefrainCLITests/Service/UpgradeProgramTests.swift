// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import RefrainLocks
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// `refrain serve --share-port`: one program after the other at one port, with one cache, under
  /// clients that never pause.
  @Suite(.timeLimit(.minutes(TestSeed.minutes(2))))
  struct UpgradeProgramTests {
    private static let files = (0..<8).map { "/\($0)" }
    private static let length: Int64 = 30_000
    private static let clients = 8
    private static let bodies = files.indices.map {
      SyntheticBytes(seed: UInt64($0)).bytes(in: 0..<length)
    }

    /// The responses that the clients have received so far.
    private final class Tally: Sendable {
      private struct State {
        var count = 0
        var failures: [String] = []
        var isOver = false
      }

      private let state = Mutex(State())

      var count: Int { state.withLock { $0.count } }
      var failures: [String] { state.withLock { $0.failures } }
      var isOver: Bool { state.withLock { $0.isOver } }

      func note(_ failure: String?) {
        state.withLock { state in
          state.count += 1
          if let failure { state.failures.append(failure) }
        }
      }

      func end() { state.withLock { $0.isOver = true } }
    }

    /// Requests one file after the other, on connections that last until the server closes them.
    private static func request(_ number: Int, at port: Int, _ tally: Tally) async {
      var index = number
      while !tally.isOver {
        do {
          index = try await RawConnection.open(port: port) { [index] connection in
            var index = index
            while !tally.isOver {
              let file = index % files.count
              index += 1
              let reply = try await connection.reply(to: files[file], host: "127.0.0.1:\(port)")
              let isRight = reply.status == 200 && reply.isComplete && reply.body == bodies[file]
              tally.note(isRight ? nil : "status \(reply.status), \(reply.body.count) bytes")
              // A server that closes without this fails a request.
              if reply["Connection"] == "close" || reply.status == 0 { break }
            }
            return index
          }
        } catch {
          tally.note("\(error)")
        }
      }
    }

    private func start(
      _ program: Program, _ origin: OriginServer, port: Int, name: String
    ) async throws -> (RunningProgram, port: Int) {
      let serve = try RunningProgram(
        program,
        [
          "serve", "--port", "\(port)", "--origin", origin.baseURL.absoluteString, "--quiet",
          "--share-port", "--node-name", name,
        ])
      let port = try #require(URL(string: try await serve.nextLine())?.port)
      return (serve, port)
    }

    private func get(_ path: String, at port: Int) async throws -> Reply {
      try await RawConnection.open(port: port) {
        try await $0.reply(to: path, host: "127.0.0.1:\(port)")
      }
    }

    @Test func `A program that does not share its port is named as the reason`() async throws {
      let origin = try await OriginServer.start()
      try await Program.with { program in
        let options = ["serve", "--origin", origin.baseURL.absoluteString, "--quiet"]
        let serve = try RunningProgram(program, options + ["--port", "0"])
        let port = try #require(URL(string: try await serve.nextLine())?.port)
        let second = try await program.run(options + ["--port", "\(port)", "--share-port"])
        #expect(second.status == 1)
        #expect(
          second.errors.contains("was started without --share-port, or by another user"),
          "\(second.errors)")
        let third = try await program.run(options + ["--port", "\(port)"])
        #expect(third.status == 1 && third.errors.contains("'refrain url'"), "\(third.errors)")
        #expect(!third.errors.contains("--share-port"), "\(third.errors)")
        withExtendedLifetime(serve) {}
      }
      await origin.stop()
    }

    @Test func `Two upgrades in a row fail no request, and fetch nothing again`() async throws {
      let origin = try await OriginServer.start()
      for (index, path) in Self.files.enumerated() {
        origin.serve(
          OriginResource(
            .synthetic(seed: UInt64(index), length: Self.length), etag: "\"1\"",
            headers: [Field("Cache-Control", "max-age=1000")]), at: path)
      }
      try await Program.with { program in
        let (first, port) = try await start(program, origin, port: 0, name: "n0")
        for (path, body) in zip(Self.files, Self.bodies) {
          #expect(try await get(path, at: port).body == body)
        }
        // What was stored a moment ago is not recorded yet for other processes.
        try await eventually("all is recorded") {
          let list = try await program.run("ls", "--json").output
          return list.components(separatedBy: #""isComplete":true"#).count == Self.files.count + 1
        }
        let tally = Tally()
        let clients = (0..<Self.clients).map { number in
          Task { await Self.request(number, at: port, tally) }
        }
        defer { tally.end() }
        var current = first
        for round in 1...2 {
          let before = tally.count
          try await eventually("clients are served") { tally.count > before + 50 }
          let (next, _) = try await start(program, origin, port: port, name: "n\(round)")
          for _ in 0..<10 {
            let status = try await get("/1", at: port)["Cache-Status"]
            #expect(status?.hasPrefix("n\(round);") == true)
          }
          current.send(SIGTERM)
          #expect(await current.end() == 128 + SIGTERM)
          #expect(current.errors.isEmpty)
          current = next
        }
        let before = tally.count
        try await eventually("clients are served") { tally.count > before + 50 }
        tally.end()
        for client in clients { await client.value }
        #expect(tally.failures.isEmpty, "of \(tally.count)")
        current.send(SIGTERM)
        _ = await current.end()
      }
      for path in Self.files {
        #expect(origin.log(path).bodyBytesSent == Self.length, "\(path)")
      }
      await origin.stop()
    }
  }
#endif
