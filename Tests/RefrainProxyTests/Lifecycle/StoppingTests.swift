// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Connections when the proxy stops.
@Suite(.timeLimit(.minutes(2))) struct StoppingTests {
  private static let length: Int64 = 2_000_000

  private func withPatience(_ body: (TestProxy) async throws -> Void) async throws {
    try await withProxy(
      proxy: { configuration, _ in configuration.stopTimeout = .seconds(3600) }, body)
  }

  @Test func `Stopping completes a running response and accepts no new connection`() async throws {
    try await withPatience { test in
      test.origin.serve(.synthetic(seed: 1, length: Self.length), at: "/a")
      test.origin.script("/a", .on(.all, .stall(at: .body(100_000))))
      let target = try test.target("/a")
      let port = test.port
      let host = test.host
      try await test.connect { connection in
        try await connection.request(target, host: host)
        let head = try await connection.readHead()
        #expect(head.status == 200)
        try await test.origin.wait(for: "/a") { $0.stalled > 0 }
        let stopping = Task { await test.proxy.stop() }
        try await eventually("it no longer listens") { test.proxy.listeningAddress == nil }
        try await PlainSocket.nobodyListens(port: port)
        test.origin.release("/a")
        let body = try await connection.readToEnd()
        #expect(body == SyntheticBytes(seed: 1).bytes(in: 0..<Self.length))
        #expect(!connection.wasReset)
        await stopping.value
      }
      #expect(test.proxy.connectionCount == 0)
    }
  }

  @Test func `A request whose client has left is logged before the proxy ends`() async throws {
    let log = TestProxy.Log()
    let slowLog: @Sendable (ServedRequest) -> Void = {
      // As on a busy machine.
      Thread.sleep(forTimeInterval: 0.2)
      log.append($0)
    }
    try await withProxy(proxy: { configuration, _ in
      configuration.log = slowLog
      configuration.stopTimeout = .seconds(60)
    }) { test in
      test.origin.serve(.synthetic(seed: 1, length: Self.length), at: "/a")
      test.origin.script("/a", .on(.all, .stall(at: .body(100_000))))
      let (target, host) = (try test.target("/a"), test.host)
      try await test.connect { connection in
        try await connection.request(target, host: host)
        #expect(try await connection.readHead().status == 200)
      }
      await test.proxy.stop()
      #expect(log.all.count == 1)
      test.origin.release("/a")
    }
  }

  @Test func `Stopping promptly closes connections without a complete request`() async throws {
    try await withPatience { test in
      for path in ["/idle", "/running"] {
        test.origin.serve(.synthetic(seed: 1, length: Self.length), at: path)
      }
      test.origin.script("/running", .on(.all, .stall(at: .body(1000))))
      let (idle, target) = (try test.target("/idle"), try test.target("/running"))
      let running = Task {
        try await test.reply(to: target)
      }
      try await test.origin.wait(for: "/running") { $0.stalled > 0 }
      let (readiness, ready) = AsyncStream<Void>.makeStream()
      let waiting = ["", "GET / HTTP/1.1\r\nHost: "].map { start in
        Task {
          // Nobody waits longer if it fails.
          defer { ready.finish() }
          return try await test.connect { connection in
            // Once it has responded, the proxy reads from the connection: it may count one before.
            let reply = try await connection.reply(to: idle, method: "HEAD", host: test.host)
            try await connection.send(start)
            ready.yield()
            let rest = try await connection.readToEnd()
            return (status: reply.status, rest: rest, wasReset: connection.wasReset)
          }
        }
      }
      for await _ in readiness.prefix(waiting.count) {}
      let stopping = Task { await test.proxy.stop() }
      for client in waiting {
        let (status, rest, wasReset) = try await client.value
        #expect(status == 200 && rest.isEmpty && !wasReset)
      }
      // They have not waited for the running response.
      #expect(test.log.all.allSatisfy { $0.method == "HEAD" })
      test.origin.release("/running")
      #expect(try await running.value.isComplete)
      await stopping.value
      #expect(test.proxy.connectionCount == 0)
    }
  }

  @Test func `Stopping cuts off a stalled response`() async throws {
    try await withProxy { test in
      test.origin.serve(.synthetic(seed: 1, length: Self.length), at: "/a")
      test.origin.script("/a", .on(.all, .stall(at: .body(1000))))
      let target = try test.target("/a")
      try await test.connect { connection in
        try await connection.request(target, host: test.host)
        try await test.origin.wait(for: "/a") { $0.stalled > 0 }
        await test.proxy.stop()
        #expect(test.proxy.connectionCount == 0)
        #expect(try await connection.readReply().isComplete == false)
      }
    }
  }

  /// A body that ends with the connection must not seem complete.
  @Test
  func `Stopping resets the connection of an unfinished body without a length`() async throws {
    try await withProxy { test in
      var open = OriginResource(.synthetic(seed: 1, length: Self.length), etag: "\"1\"")
      open.declaresLength = false
      open.supportsRanges = false
      test.origin.serve(open, at: "/open")
      test.origin.script("/open", .on(.all, .stall(at: .body(500_000))))
      let target = try test.target("/open")
      let reading = Task {
        try await test.onSocket { client in
          try client.send("GET \(target) HTTP/1.0\r\n\r\n")
          return try client.receiveToEnd().wasReset
        }
      }
      try await test.origin.wait(for: "/open") { $0.stalled > 0 }
      await test.proxy.stop()
      #expect(try await reading.value)
    }
  }
}
