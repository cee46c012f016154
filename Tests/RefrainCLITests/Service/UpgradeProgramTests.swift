// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import RefrainLocks
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// One `refrain serve` after the other at a service manager's socket, with one cache, under clients
  /// that never pause.
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

    /// Requests one file after the other, on connections that last until the server closes them,
    /// and not as fast as the machine can.
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
              try await Task.sleep(for: .milliseconds(2))
            }
            return index
          }
        } catch {
          tally.note("\(error)")
        }
      }
    }

    private func start(
      _ program: Program, _ origin: OriginServer, _ socket: LocalSocket, name: String
    ) async throws -> Serving {
      let serve = try await program.serve(
        "--node-name", name, of: origin, sockets: [(name: "web", descriptor: socket.descriptor)])
      #expect(serve.port == socket.port)
      return serve
    }

    @Test func `Two upgrades in a row fail no request, and fetch nothing again`() async throws {
      try await Program.withOrigin { program, origin in
        for (index, path) in Self.files.enumerated() {
          origin.serve(
            OriginResource(
              .synthetic(seed: UInt64(index), length: Self.length), etag: "\"1\"",
              headers: [.fresh]), at: path)
        }
        let socket = try LocalSocket()
        let port = socket.port
        let first = try await start(program, origin, socket, name: "n0")
        for (path, body) in zip(Self.files, Self.bodies) {
          #expect(try await first.get(path).body == body)
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
          await current.stop()
          current = try await start(program, origin, socket, name: "n\(round)")
          for _ in 0..<10 {
            let status = try await current.get("/1")["Cache-Status"]
            #expect(status?.hasPrefix("n\(round);") == true)
          }
        }
        let before = tally.count
        try await eventually("clients are served") { tally.count > before + 50 }
        tally.end()
        for client in clients { await client.value }
        #expect(tally.failures.isEmpty, "of \(tally.count)")
        await current.stop()
        for path in Self.files {
          #expect(origin.log(path).bodyBytesSent == Self.length, "\(path)")
        }
      }
    }
  }
#endif
