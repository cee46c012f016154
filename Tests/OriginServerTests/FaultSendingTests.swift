// SPDX-License-Identifier: MIT

import Foundation
import OriginServer
import Testing

/// Faults while a body is sent, and their records in the log.
@Suite(.timeLimit(.minutes(1)))
struct FaultSendingTests {
  let bytes = SyntheticBytes(seed: 1)

  @Test(arguments: [0, 1, 500, 70_000, 199_999])
  func `A connection is dropped after a number of body bytes`(_ count: Int) async throws {
    try await OriginServer.with { origin in
      origin.serve(.synthetic(seed: 1, length: 200_000), at: "/a")
      origin.script("/a", .on(.first(1), .drop(at: .body(Int64(count)))))
      let reply = try await get(origin, "/a")
      #expect(reply.status == 200)
      #expect(reply.body == bytes.bytes(in: 0..<Int64(count)))
      #expect(!reply.isComplete)
      let log = try await origin.wait(for: "/a") { $0.openConnections == 0 }
      #expect(log.bodyBytesSent == Int64(count))
      #expect(try await get(origin, "/a").isComplete)
    }
  }

  @Test func `A connection is dropped at a byte of the resource`() async throws {
    try await OriginServer.with { origin in
      origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
      origin.script("/a", .on(.all, .drop(at: .resource(500))))
      let dropped = try await get(origin, "/a", ["Range: bytes=450-"])
      #expect(dropped.body.count == 50)
      // Ranges that do not contain the byte are complete.
      #expect(try await get(origin, "/a", ["Range: bytes=0-499"]).isComplete)
      #expect(try await get(origin, "/a", ["Range: bytes=501-"]).isComplete)
    }
  }

  @Test func `A dropped connection is reset`() async throws {
    try await OriginServer.with { origin in
      origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
      origin.script(
        "/a", .on(.all, .stall(at: .body(500)), .drop(at: .body(500), reset: true)))
      try await RawConnection.open(port: origin.port) { connection in
        try await connection.request("/a")
        #expect(try await connection.readHead().status == 200)
        #expect(try await connection.read(upTo: 500).count == 500)
        origin.release("/a")
        #expect(try await connection.readToEnd().isEmpty)
        #expect(connection.wasReset)
      }
    }
  }

  @Test func `A stalled response waits until it is released`() async throws {
    try await OriginServer.with { origin in
      origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
      origin.script("/a", .on(.all, .stall(at: .resource(300))))
      async let reply = get(origin, "/a")
      let log = try await origin.wait(for: "/a") { $0.stalled == 1 }
      #expect(log.bodyBytesSent == 300)
      #expect(log.running == 1)
      origin.release("/a")
      #expect(try await reply.body == bytes.bytes(in: 0..<1000))
    }
  }

  @Test func `A stalled response continues after the scripted time`() async throws {
    try await OriginServer.with { origin in
      origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
      origin.script("/a", .on(.all, .stall(at: .body(300), for: .milliseconds(50))))
      let clock = ContinuousClock()
      let start = clock.now
      let reply = try await get(origin, "/a")
      #expect(reply.isComplete)
      #expect(clock.now - start >= .milliseconds(50))
    }
  }

  @Test func `A stalled response that the client leaves is logged as abandoned`() async throws {
    try await OriginServer.with { origin in
      origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
      origin.script("/a", .on(.first(1), .stall(at: .body(10))))
      try await RawConnection.open(port: origin.port) { connection in
        try await connection.request("/a")
        try await origin.wait(for: "/a") { $0.stalled == 1 }
      }
      let log = try await origin.wait(for: "/a") { $0.openConnections == 0 }
      #expect(log.stalled == 0)
      #expect(log.requests.map(\.outcome) == [.abandoned])
      #expect(log.bodyBytesSent == 10)
    }
  }

  @Test func `The log counts the bytes of a body left by the client or dropped`() async throws {
    try await OriginServer.with(sendBuffer: 64 * 1024) { origin in
      let content = bytes.bytes(in: 0..<4_000_000)
      origin.serve(OriginResource(.bytes(content)), at: "/a")
      try await RawConnection.open(port: origin.port, receiveBuffer: 64 * 1024) { connection in
        try await connection.request("/a")
        #expect(try await connection.readHead().status == 200)
        #expect(try await connection.read(upTo: 1000) == Array(content[..<1000]))
      }
      let left = try await origin.wait(for: "/a") { $0.openConnections == 0 }
      #expect(left.requests.map(\.outcome) == [.abandoned])
      #expect(left.bodyBytesSent < 2_000_000)
      origin.script("/a", .on(.all, .drop(at: .resource(100_001))))
      let dropped = try await get(origin, "/a", ["Range: bytes=100-"])
      #expect(dropped.body == Array(content[100..<100_001]))
      let log = try await origin.wait(for: "/a") { $0.openConnections == 0 && $0.connections == 2 }
      #expect(log.requests.last?.bodyBytesSent == 99_901)
    }
  }

  @Test func `A dribbled response arrives slowly and completely`() async throws {
    try await OriginServer.with { origin in
      origin.serve(.synthetic(seed: 1, length: 100_000), at: "/a")
      origin.script(
        "/a", .on(.all, .dribble(bytesPerSecond: 10_000, from: .body(50_000), for: 1000)))
      let clock = ContinuousClock()
      let start = clock.now
      let reply = try await get(origin, "/a")
      #expect(reply.body == bytes.bytes(in: 0..<100_000))
      // 1000 bytes at 10 kB/s; the client does not wait for the last of them.
      #expect(clock.now - start >= .milliseconds(50))
    }
  }

  @Test func `A throttled resource arrives slowly and completely`() async throws {
    try await OriginServer.with { origin in
      var resource = OriginResource.synthetic(seed: 1, length: 10_000)
      resource.bytesPerSecond = 100_000
      origin.serve(resource, at: "/a")
      let clock = ContinuousClock()
      let start = clock.now
      let reply = try await get(origin, "/a")
      #expect(reply.body == bytes.bytes(in: 0..<10_000))
      #expect(clock.now - start >= .milliseconds(50))
    }
  }
}
