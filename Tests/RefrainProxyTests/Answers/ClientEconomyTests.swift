// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import TestSupport
import Testing

@testable import RefrainProxy

/// The cost to the origin of clients that stall, jump about, or leave.
@Suite(.timeLimit(.minutes(2))) struct ClientEconomyTests {
  private static let length: Int64 = 48 << 20
  private static let bytes = SyntheticBytes(seed: 1)

  /// Runs a test with an origin of whose bytes few are on their way.
  private func withSlimOrigin(_ body: (TestProxy) async throws -> Void) async throws {
    try await withOrigin(sendBuffer: 256 << 10) { try await withProxy(origin: $0, body) }
  }

  /// Requests a path, receives some bytes, and leaves.
  private func leave(
    _ path: String, of test: TestProxy, after count: Int, receiveBuffer: CInt? = nil,
    _ fields: [String] = []
  ) async throws {
    try await test.onSocket(receiveBuffer: receiveBuffer) { client in
      try client.send(try test.request(for: path, fields))
      _ = try client.receive(exactly: count)
      client.reset()
    }
  }

  /// The client's receive buffer is small, because bytes in it count as taken. That of the proxy's
  /// connection to the origin grows to 6 MiB or more (tcp(7)).
  @Test func `A client that stalls after 1 MiB costs the origin at most 8 MiB`() async throws {
    try await withSlimOrigin { test in
      test.origin.serve(.synthetic(seed: 1, length: Self.length), at: "/a")
      let start = try await test.onSocket(receiveBuffer: 64 << 10) { client in
        try client.send(try test.request(for: "/a"))
        let start = try client.receive(exactly: 1 << 20)
        // Bytes in flight for it arrive, and nothing more.
        try client.awaitQuiet(milliseconds: 500)
        return start
      }
      let body = try #require(AnswerReader.read(start).first).body
      #expect(body == Self.bytes.bytes(in: 0..<Int64(body.count)))
      let log = try await test.settledLog("/a")
      #expect(log.bodyBytesSent <= 8 << 20)
      #expect(log.bytesSentTwice == 0)
      try await eventually("it is gone") { test.proxy.connectionCount == 0 }
      try await eventually("it is in the log") { test.log.all.count == 1 }
    }
  }

  /// The same with an origin that does not support ranges.
  @Test func `A client that leaves ends the fetch from an origin without ranges`() async throws {
    try await withSlimOrigin { test in
      var whole = OriginResource.synthetic(seed: 1, length: Self.length)
      whole.supportsRanges = false
      test.origin.serve(whole, at: "/a")
      try await leave("/a", of: test, after: 1 << 20, receiveBuffer: 64 << 10)
      let log = try await test.settledLog("/a")
      #expect(log.bodyBytesSent < Self.length / 2)
    }
  }

  @Test
  func `A client completes a fetch that another left, and no byte is sent twice`() async throws {
    try await withProxy { test in
      let length: Int64 = 8 << 20
      test.origin.serve(.synthetic(seed: 1, length: length), at: "/a")
      test.origin.script("/a", .on(.number(1), .stall(at: .body(20_000))))
      let leaving = Task { try await leave("/a", of: test, after: 5000) }
      try await test.origin.wait(for: "/a") { $0.stalled > 0 }
      let staying = Task { try await test.get("/a") }
      try await leaving.value
      try await eventually("one has left") { test.log.all.count == 1 }
      test.origin.release("/a")
      let reply = try await staying.value
      #expect(reply.isComplete)
      #expect(reply.body == Self.bytes.bytes(in: 0..<length))
      let log = try await test.settledLog("/a")
      #expect(log.bodyBytesSent == length && log.bytesSentTwice == 0)
    }
  }

  @Test func `A request is abandoned when its only client leaves`() async throws {
    try await withProxy { test in
      // A requested range completes; a whole response does not.
      var whole = OriginResource.synthetic(seed: 1, length: Self.length)
      whole.supportsRanges = false
      test.origin.serve(whole, at: "/a")
      test.origin.script("/a", .on(.all, .stall(at: .body(20_000))))
      try await leave("/a", of: test, after: 5000)
      // The test does not release the origin: the request is abandoned.
      let log = try await test.settledLog("/a")
      #expect(log.bodyBytesSent <= 64 << 10)
    }
  }

  @Test func `A 10-byte range far inside a file costs at most 256 KiB`() async throws {
    try await withSlimOrigin { test in
      test.origin.serve(.synthetic(seed: 1, length: Self.length), at: "/a")
      let lower: Int64 = 40 << 20
      let reply = try await test.get("/a", ["Range: bytes=\(lower)-\(lower + 9)"])
      #expect(reply.status == 206)
      #expect(reply.body == Self.bytes.bytes(in: lower..<lower + 10))
      // The same without an end of the range.
      let closed = try await test.settledLog("/a")
      #expect(closed.bodyBytesSent <= 256 << 10)
      let open = ["Range: bytes=\(lower + 1_000_000)-"]
      try await leave("/a", of: test, after: 500, receiveBuffer: 4 << 10, open)
      let log = try await test.settledLog("/a")
      // The capacity of the sockets, and little more.
      #expect(log.bodyBytesSent - closed.bodyBytesSent <= 8 << 20)
    }
  }

  @Test(arguments: [true, false])
  func `Eight clients of one cold file fetch each byte once`(supportsRanges: Bool) async throws {
    try await withProxy { test in
      let length: Int64 = 8 << 20
      var resource = OriginResource.synthetic(seed: 1, length: length)
      resource.supportsRanges = supportsRanges
      test.origin.serve(resource, at: "/a")
      let bytes = Self.bytes.bytes(in: 0..<length)
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for _ in 0..<8 {
          group.addTask {
            let reply = try await test.get("/a")
            return reply.isComplete && areEqual(reply.body, bytes)
          }
        }
        for try await isRight in group { #expect(isRight) }
      }
      let log = try await test.settledLog("/a")
      #expect(log.bodyBytesSent == length && log.bytesSentTwice == 0)
    }
  }

  @Test
  func `A fetch continues to the end without its client if fetchesWhole is set`() async throws {
    try await withProxy(proxy: { configuration, _ in configuration.fetchesWhole = true }) { test in
      let length: Int64 = 8 << 20
      test.origin.serve(.synthetic(seed: 1, length: length), at: "/a")
      try await test.onSocket(receiveBuffer: 4 << 10) { client in
        try client.send(try test.request(for: "/a"))
        _ = try client.receive(exactly: 500)
        // It reads nothing more, and leaves once the origin has sent more than it could take.
        while test.origin.log("/a").distinctBytesSent < 6 << 20 { usleep(1000) }
        client.reset()
      }
      let log = try await test.origin.wait(for: "/a") {
        $0.distinctBytesSent == length && $0.running == 0
      }
      #expect(log.bytesSentTwice == 0)
      #expect(try await test.get("/a").body == Self.bytes.bytes(in: 0..<length))
      #expect(try await test.settledLog("/a").bodyBytesSent == length)
    }
  }

  #if os(Linux)
    @Test func `Stalled clients do not accumulate bodies in memory`() async throws {
      try await withProxy { test in
        test.origin.serve(.synthetic(seed: 1, length: Self.length), at: "/a")
        var moving = OriginResource(.synthetic(seed: 1, length: Self.length))
        moving.headers = [Field("Cache-Control", "no-store")]
        test.origin.serve(moving, at: "/unkept")
        // A hit, a miss, and a relayed response.
        #expect(try await test.get("/a", ["Range: bytes=0-20000000"]).isComplete)
        let port = test.port
        let texts = try ["/a", "/a", "/unkept"].map { try test.request(for: $0) }
        let before = try Self.residentBytes()
        let growth = try await onThread {
          let clients = try (0..<24).map { index in
            let client = try PlainSocket(port: port, receiveBuffer: 8 << 10)
            try client.send(texts[index % 3])
            _ = try client.receive(exactly: 1000)
            return client
          }
          try clients.last?.awaitQuiet(milliseconds: 500)
          let growth = try Self.residentBytes() - before
          for client in clients { client.reset() }
          return growth
        }
        // Other tests run in this process, too; the bodies are more than a gibibyte.
        #expect(growth < 256 << 20, "\(growth >> 10) KiB for 24 clients")
        try await eventually("all are gone") { test.proxy.connectionCount == 0 }
      }
    }

    private static func residentBytes() throws -> Int {
      let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
      return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4096
    }
  #endif
}
