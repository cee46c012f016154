// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// `refrain serve` with many clients, and with few descriptors.
  ///
  /// One test at a time: the clients of each take up to a thousand of the descriptors that this
  /// process may have open.
  @Suite(.timeLimit(.minutes(4)), .serialized)
  struct CrowdTests {
    private static let length = 8 << 20
    private static let seed: UInt64 = 11
    /// What `DescriptorBudget` leaves to the clients.
    private static let clientsOf72Descriptors = 8

    private func withServer(
      _ options: [String], openFiles: Int? = nil,
      _ body: (_ origin: OriginServer, _ serve: RunningProgram, _ port: Int) async throws -> Void
    ) async throws {
      let origin = try await OriginServer.start()
      origin.serve(.synthetic(seed: Self.seed, length: Int64(Self.length)), at: "/a.mp3")
      defer { Task { await origin.stop() } }
      try await Program.with { program in
        let executable = try Program.executable().path(percentEncoded: false)
        let arguments =
          [
            "serve", "--port", "0", "--quiet", "--origin", origin.baseURL.absoluteString,
          ] + options
        let limit = openFiles.map { "ulimit -n \($0); " } ?? ""
        let serve = try RunningProgram(
          program, path: "/bin/bash",
          ["-c", "\(limit)exec \"$0\" \"$@\"", executable] + arguments)
        let base = try await serve.nextLine()
        let port = try #require(URL(string: base)?.port)
        try await body(origin, serve, port)
        serve.send(SIGTERM)
        _ = await serve.end()
      }
    }

    /// Lowers the limit from outside, as prlimit(1) does.
    private func lowerLimit(of serve: RunningProgram, to count: Int) async throws {
      try await Program.with { program in
        let prlimit = try RunningProgram(
          program, path: "/usr/bin/prlimit",
          ["--pid", "\(serve.process)", "--nofile=\(count):\(count)"])
        let code = await prlimit.end()
        #expect(code == 0)
      }
    }

    /// Returns a number from /proc/PID/status.
    private func status(_ name: String, of serve: RunningProgram) throws -> Int {
      let text = try String(contentsOfFile: "/proc/\(serve.process)/status", encoding: .utf8)
      let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(name + ":") })
      return try #require(line.split { !$0.isNumber }.first.flatMap { Int($0) })
    }

    @Test func `A thousand slow readers receive the right bytes`() async throws {
      try await withServer([]) { origin, serve, port in
        let bytes = SyntheticBytes(seed: Self.seed).bytes(in: 0..<Int64(Self.length))
        let size = 48 << 10
        // All misses, then all hits.
        for _ in 0..<2 {
          let crowd = Crowd()
          try await onThread {
            for index in 0..<1000 {
              try crowd.connect(port: port)
              let lower = (index * 7919 * 1021) % (Self.length - size)
              try crowd.ask(index, "/a.mp3", host: "127.0.0.1:\(port)", range: lower..<lower + size)
            }
            try crowd.readAll()
            crowd.leave()
          }
          for answer in crowd.answers {
            #expect(answer.status == 206)
            #expect(Data(answer.body) == Data(bytes[answer.range]))
          }
        }
        // The address sanitizer keeps extra memory for everything that is or was allocated.
        if ProcessInfo.processInfo.environment["REFRAIN_ADDRESS_SANITIZER"] == nil {
          #expect(try status("VmHWM", of: serve) < 300 << 10, "KiB, at the most at any time")
        }
        #expect(try status("Threads", of: serve) < 40)
        let log = try await origin.wait(for: "/a.mp3") { $0.running == 0 }
        #expect(log.bytesSentTwice == 0)
      }
    }

    /// Every request is a miss, and none is repeated.
    @Test(arguments: [(72, 64), (256, 64), (256, 300)])
    func `Continuous misses are still served under a low descriptor limit`(
      openFiles: Int, clients: Int
    ) async throws {
      try await withServer([], openFiles: openFiles) { origin, serve, port in
        for index in 0..<64 {
          origin.serve(.synthetic(seed: UInt64(index), length: 4), at: "/\(index)")
        }
        let end = ContinuousClock.now + .seconds(TestSeed.isSoak ? 60 : 0.4)
        let counts = try await withThrowingTaskGroup(of: [Int: Int].self) { group in
          for client in 0..<clients {
            group.addTask { try await Self.miss(client % 64, port: port, until: end) }
          }
          return try await group.reduce(into: [Int: Int]()) { $0.merge($1) { $0 + $1 } }
        }
        print("\(openFiles) descriptors, \(clients) clients: \(counts)")
        #expect(Set(counts.keys).isSubset(of: [200, 503, 0]))
        #expect(counts[200] ?? 0 > 0)
        #expect(try status("Threads", of: serve) < 40, "it still runs")
        // 72 descriptors do not suffice, and the proxy serves all the same.
        if openFiles > 72 { #expect(!serve.errors.contains("Too many open files")) }
      }
    }

    /// Requests URLs that were never requested before.
    ///
    /// - Returns: the number of responses per status.
    private static func miss(
      _ client: Int, port: Int, until end: ContinuousClock.Instant
    ) async throws -> [Int: Int] {
      let expected = SyntheticBytes(seed: UInt64(client)).bytes(in: 0..<4)
      var counts: [Int: Int] = [:]
      var number = 0
      while ContinuousClock.now < end {
        number += 1
        let target = "/\(client)?\(number)"
        let reply = try await RawConnection.open(port: port) {
          try await $0.reply(to: target, host: "127.0.0.1:\(port)")
        }
        counts[reply.status, default: 0] += 1
        if reply.status == 200 { #expect(reply.body == expected) }
        // No room for the connection, or for one more open resource.
        if reply.status == 503 { #expect(reply["Retry-After"] == "1") }
      }
      return counts
    }

    @Test(arguments: [false, true])
    func `Clients beyond the descriptor limit receive 503, and later ones are served`(
      isUnexpected: Bool
    ) async throws {
      // A limit that is lowered while the proxy runs, or the one at its start.
      try await withServer([], openFiles: isUnexpected ? 1000 : 72) { origin, serve, port in
        if isUnexpected {
          try await lowerLimit(of: serve, to: 72)
        }
        let bytes = SyntheticBytes(seed: Self.seed).bytes(in: 0..<4096)
        // Far more than the sockets hold: a client that is answered stays connected.
        func ask(_ count: Int) async throws -> [Int] {
          let crowd = Crowd()
          try await onThread {
            for _ in 0..<count { try crowd.connect(port: port) }
            for index in 0..<count {
              // A client that was refused already cannot send a request.
              try? crowd.ask(
                index, "/a.mp3", host: "127.0.0.1:\(port)", range: 0..<Self.length)
            }
            try crowd.readAll(enough: 2048)
          }
          for answer in crowd.answers where answer.status == 206 {
            #expect(bytes.starts(with: answer.body.prefix(4096)))
          }
          return crowd.answers.map(\.status)
        }
        #expect(try await ask(1) == [206])
        for _ in 0..<2 {
          let statuses = try await ask(150)
          // A client that is served stays connected.
          #expect((1...Self.clientsOf72Descriptors).contains(statuses.count { $0 == 206 }))
          #expect(statuses.contains(503))
          try await eventually("there is room again") { try await ask(1) == [206] }
        }
      }
    }
  }
#endif
