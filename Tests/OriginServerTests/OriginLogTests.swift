// SPDX-License-Identifier: MIT

import Foundation
import OriginServer
import Testing

@Suite(.timeLimit(.minutes(1)))
struct OriginLogTests {
  @Test func `The log records requests, sent spans and bytes sent twice`() async throws {
    try await OriginServer.with { origin in
      origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
      try await RawConnection.open(port: origin.port) { connection in
        for range in ["0-99", "50-149", "900-"] {
          _ = try await connection.reply(to: "/a", ["Range: bytes=\(range)"])
        }
        let log = origin.log("/a")
        #expect(log.requests.map(\.request.range) == ["bytes=0-99", "bytes=50-149", "bytes=900-"])
        #expect(log.requests.map(\.status) == [206, 206, 206])
        #expect(log.requests.map(\.bodyBytesSent) == [100, 100, 100])
        #expect(log.sent == RangeSet([0..<150, 900..<1000]))
        #expect(log.distinctBytesSent == 250)
        #expect(log.bytesSentTwice == 50)
        #expect(log.bodyBytesSent == 300)
        #expect(log.connections == 1)
        #expect(log.openConnections == 1)
      }
      let log = try await origin.wait(for: "/a") { $0.openConnections == 0 }
      #expect(log.connections == 1)
      origin.resetLog("/a")
      #expect(origin.log("/a").requests.isEmpty)
      #expect(origin.log("/a").sent.isEmpty)
    }
  }

  @Test func `Bytes of a newly served resource do not count as sent twice`() async throws {
    try await OriginServer.with { origin in
      for seed in [1, 2] as [UInt64] {
        origin.serve(.synthetic(seed: seed, length: 1000), at: "/a")
        try await #expect(get(origin, "/a").isComplete)
      }
      let log = origin.log("/a")
      #expect(log.bytesSentTwice == 0)
      #expect(log.bodyBytesSent == 2000)
    }
  }

  @Test func `The log contains what a client has just received`() async throws {
    try await OriginServer.with { origin in
      origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
      // Keeps the connection between recording the bytes, which the client has by then, and
      // recording the end of the response.
      let slow = Task {
        try await origin.wait(for: "/a") { log in
          if log.running == 1, log.requests.last?.bodyBytesSent == 1000 {
            Thread.sleep(forTimeInterval: 0.01)
          }
          return false
        }
      }
      defer { slow.cancel() }
      for count in 1...8 {
        try await RawConnection.open(port: origin.port) { connection in
          try await #expect(connection.reply(to: "/a").isComplete)
          let log = origin.log("/a")
          #expect(log.running == 0 && log.bodyBytesSent == Int64(count) * 1000)
        }
      }
    }
  }

  @Test(arguments: [true, false])
  func `A paused client pauses the origin`(chunked: Bool) async throws {
    try await OriginServer.with(sendBuffer: 64 * 1024) { origin in
      let length: Int64 = 64 << 20
      origin.serve(.synthetic(seed: 1, length: length), at: "/a")
      if chunked { origin.script("/a", .on(.all, .chunked)) }
      // A complete second response gives the first one ample time.
      origin.serve(.synthetic(seed: 2, length: length), at: "/b")
      try await RawConnection.open(port: origin.port, receiveBuffer: 64 * 1024) { connection in
        try await connection.request("/a")
        try await #expect(connection.readHead().status == 200)
        try await #expect(connection.read(upTo: 1_000_000).count == 1_000_000)
        try await #expect(get(origin, "/b").isComplete)
        #expect(origin.log("/a").bodyBytesSent < 8 << 20)
      }
      let log = try await origin.wait(for: "/a") { $0.openConnections == 0 }
      #expect(log.bodyBytesSent < 8 << 20)
    }
  }

  @Test func `A wait ends when its task is cancelled`() async throws {
    try await OriginServer.with { origin in
      let waiting = Task { try await origin.wait(for: "/a") { _ in false } }
      waiting.cancel()
      await #expect(throws: CancellationError.self) { try await waiting.value }
    }
  }
}
