// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import RefrainProxy
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// The protocol of sd_listen_fds(3).
  @Suite(.timeLimit(.minutes(TestSeed.minutes(2))))
  struct ActivatedSocketsTests {
    private func given(
      _ variables: [String: String], process: pid_t = 7
    ) throws -> [ActivatedSockets.Descriptor] {
      try ActivatedSockets.Descriptor.all(in: variables, process: process)
    }

    @Test func `The sockets of this process are numbered from 3, with their names`() throws {
      let variables = ["LISTEN_PID": "7", "LISTEN_FDS": "2", "LISTEN_FDNAMES": "web:admin"]
      let two: [ActivatedSockets.Descriptor] = [
        .init(number: 3, name: "web"), .init(number: 4, name: "admin"),
      ]
      #expect(try given(variables) == two)
      let nameless = ["LISTEN_PID": "7", "LISTEN_FDS": "1"]
      #expect(try given(nameless) == [.init(number: 3, name: "")])
    }

    @Test(
      arguments: [
        [:], ["LISTEN_PID": "7"], ["LISTEN_FDS": "1"], ["LISTEN_PID": "8", "LISTEN_FDS": "1"],
        ["LISTEN_PID": "x", "LISTEN_FDS": "1"], ["LISTEN_PID": "7", "LISTEN_FDS": "0"],
      ] as [[String: String]])
    func `Sockets of another process, or none, are not used`(_ variables: [String: String]) throws {
      #expect(try given(variables).isEmpty)
    }

    @Test(
      arguments: [
        ["LISTEN_FDS": "x"], ["LISTEN_FDS": "-1"], ["LISTEN_FDS": "65"], ["LISTEN_FDS": ""],
        ["LISTEN_FDS": "2", "LISTEN_FDNAMES": "web"], ["LISTEN_FDS": "1", "LISTEN_FDNAMES": "a:b"],
      ] as [[String: String]])
    func `Contradictory variables are an error`(_ variables: [String: String]) {
      #expect(throws: InvalidArgument.self) {
        try given(variables.merging(["LISTEN_PID": "7"]) { $1 })
      }
    }

    @Test func `The name admin distinguishes the operator's socket`() throws {
      let (one, two) = (try LocalSocket(), try LocalSocket())
      let sockets = try ActivatedSockets([
        .init(number: one.descriptor, name: "admin"), .init(number: two.descriptor, name: "x"),
      ])
      #expect(sockets.admin?.address.port == one.port)
      #expect(sockets.proxy?.address.port == two.port)
      #expect(throws: InvalidArgument.self) {
        try ActivatedSockets([
          .init(number: one.descriptor, name: "a"), .init(number: two.descriptor, name: "b"),
        ])
      }
    }

    @Test func `A request waits in the sockets of a service manager for the next program`()
      async throws
    {
      let (web, admin) = (try LocalSocket(), try LocalSocket())
      let sockets = [
        (name: "web", descriptor: web.descriptor), (name: "admin", descriptor: admin.descriptor),
      ]
      let song = [UInt8](repeating: 7, count: 5000)
      try await Program.withSong(song) { program, origin, _ in
        let first = try await program.serve(of: origin, sockets: sockets)
        #expect(first.base == "http://127.0.0.1:\(web.port)/")
        #expect(try await first.running.nextLine() == "Admin: http://127.0.0.1:\(admin.port)/")
        #expect(try await first.get("/song.flac").body == song)
        await first.stop()
        // Nobody accepts this connection yet.
        let second = try await RawConnection.open(port: web.port) { connection in
          try await connection.request("/song.flac", host: "127.0.0.1:\(web.port)")
          let second = try await program.serve(of: origin, sockets: sockets)
          #expect(try await connection.readReply().body == song)
          return second
        }
        #expect(try await Serving.get("/health", at: admin.port).status == 200)
        await second.stop()
      }
    }

    @Test func `A socket of a service manager excludes --port`() async throws {
      let web = try LocalSocket()
      try await Program.with { program in
        let serve = try RunningProgram(
          program, ["serve", "--port", "0"], sockets: [(name: "", descriptor: web.descriptor)])
        #expect(await serve.end() == 64)
        #expect(serve.errors.contains("--port"))
      }
    }
  }
#endif
