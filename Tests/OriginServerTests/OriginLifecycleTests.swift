// SPDX-License-Identifier: MIT

import Foundation
import OriginServer
import Testing

@Suite(.timeLimit(.minutes(1)))
struct OriginLifecycleTests {
  @Test func `An origin stops listening and resumes on the same port`() async throws {
    try await OriginServer.with { origin in
      origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
      try await RawConnection.open(port: origin.port) { connection in
        let reply = try await connection.reply(to: "/a")
        #expect(reply.isComplete)
        await origin.stopListening()
        #expect(try await connection.readToEnd().isEmpty)
      }
      await #expect(throws: (any Error).self) { try await get(origin, "/a") }
      try await origin.resumeListening()
      #expect(try await get(origin, "/a").isComplete)
      #expect(origin.connectionsAccepted == 2)
    }
  }

  @Test func `A stopped origin refuses connections and keeps its port`() async throws {
    try await OriginServer.with { origin in
      origin.serve(.synthetic(seed: 1, length: 10), at: "/a")
      for _ in 0..<20 {
        await origin.stopListening()
        await #expect(throws: (any Error).self) { try await get(origin, "/a") }
        // Nor can another server take the port.
        let other = try await OriginServer.start()
        #expect(other.port != origin.port)
        await other.stop()
        try await origin.resumeListening()
        #expect(try await get(origin, "/a").isComplete)
      }
    }
  }

  @Test func `The port is free after the origin stops`() async throws {
    let first = try await OriginServer.start()
    await first.stop()
    let second = try await OriginServer.start(port: first.port)
    #expect(second.port == first.port)
    await #expect(throws: (any Error).self) { try await OriginServer.start(port: first.port) }
    await second.stop()
  }

  @Test func `An origin continues after it closes its connections`() async throws {
    try await OriginServer.with { origin in
      origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
      origin.script("/a", .on(.first(1), .stall(at: .body(10))))
      try await RawConnection.open(port: origin.port) { connection in
        try await connection.request("/a")
        try await origin.wait(for: "/a") { $0.stalled == 1 }
        #expect(origin.log("/a").openConnections == 1)
        await origin.closeConnections()
        let reply = try await connection.readReply()
        #expect(!reply.isComplete)
      }
      #expect(origin.log("/a").openConnections == 0)
      #expect(try await get(origin, "/a").isComplete)
    }
  }

  @Test func `An origin URL has the loopback address, its port and the query`() async throws {
    try await OriginServer.with { origin in
      #expect(origin.url("/a b.mp4?x=1").absoluteString.hasPrefix("http://127.0.0.1:"))
      #expect(origin.url("/a?x=1").absoluteString == "http://127.0.0.1:\(origin.port)/a?x=1")
    }
  }
}
