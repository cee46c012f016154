// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// The end of connections: the response reaches the client, and no connection stays for ever.
@Suite(.timeLimit(.minutes(2))) struct EndingTests {
  private static let bytes = SyntheticBytes(seed: 1)

  /// - Parameters:
  ///   - hasBegun: whether the origin stalls in the middle of its response.
  ///   - isHalf: whether the client ends its side alone.
  @Test(arguments: [false, true], [false, true])
  func `A client that leaves while the origin stalls keeps no reader`(
    hasBegun: Bool, isHalf: Bool
  ) async throws {
    try await withProxy { test in
      test.origin.serve(.synthetic(seed: 1, length: 100_000), at: "/a")
      test.origin.script("/a", .on(.all, hasBegun ? .stall(at: .body(1000)) : .delay(nil)))
      try await test.onSocket { client in
        try client.send(try test.request(for: "/a"))
        if hasBegun {
          // All that has come: closing with unread bytes would reset the connection.
          _ = try client.receiveHead()
          _ = try client.receive(exactly: 1000)
        } else {
          for _ in 0..<20_000 where test.origin.log("/a").stalled == 0 { usleep(1000) }
        }
        guard isHalf else { return client.close() }
        client.endSending()
        _ = try client.receiveToEnd()
      }
      try await eventually("its reader is gone") { await test.cache.figures().readers == 0 }
      try await eventually("it is gone") { test.proxy.connectionCount == 0 }
      test.origin.release("/a")
    }
  }

  /// Closing a socket with unread bytes resets the connection, and the client loses the unread part
  /// of its response (RFC 9112 §9.6).
  @Test func `A client that keeps sending receives its last response completely`() async throws {
    try await withProxy { test in
      let length: Int64 = 3_000_000
      test.origin.serve(.synthetic(seed: 1, length: length), at: "/a")
      #expect(try await test.get("/a").isComplete)
      let received = try await test.onSocket { client in
        try client.send(
          try test.request(for: "/a", ["Connection: close"])
            + String(repeating: "more ", count: 10_000))
        let head = try client.receive(exactly: 1)
        // Longer than a moment.
        try client.awaitQuiet(milliseconds: 1500)
        let rest = try client.receiveToEnd()
        return (bytes: head + rest.bytes, wasReset: rest.wasReset)
      }
      let replies = try AnswerReader.read(received.bytes)
      #expect(replies.count == 1)
      #expect(replies.first?.body == Self.bytes.bytes(in: 0..<length))
    }
  }

  @Test
  func `An unread body is discarded up to a limit, then the connection is closed`() async throws {
    try await withProxy { test in
      test.origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
      @Sendable func post(_ fields: String...) throws -> String {
        try test.request(for: "/a", fields, method: "POST")
      }
      // A small body keeps the connection.
      let small = try await test.onSocket { client in
        try client.send(try post("Content-Length: 30000") + String(repeating: "x", count: 30_000))
        try client.send(try test.request(for: "/a", ["Connection: close"]))
        return try client.receiveToEnd()
      }
      #expect(try AnswerReader.read(small.bytes).map(\.status) == [405, 200])
      // A large one does not, and its sender still learns why.
      let large = try await test.onSocket { client in
        try client.send(try post("Content-Length: 100000000"))
        let body = [UInt8](repeating: UInt8(ascii: "x"), count: 500_000)
        try client.send(body)
        return try client.receiveToEnd()
      }
      #expect(try AnswerReader.read(large.bytes).map(\.status) == [405])
      // A client that waits for 100 receives the final response instead.
      let waiting = try await test.onSocket { client in
        try client.send(try post("Content-Length: 100000000", "Expect: 100-continue"))
        return try client.receiveToEnd()
      }
      let reply = try #require(try AnswerReader.read(waiting.bytes).first)
      #expect(reply.status == 405 && reply["Connection"] == "close")
      try await eventually("all are gone") { test.proxy.connectionCount == 0 }
    }
  }

  /// A second response would be taken for that of the client's next request.
  @Test func `A body that fails after its response causes no second response`() async throws {
    try await withProxy(proxy: { configuration, _ in
      configuration.headTimeout = .milliseconds(200)
    }) { test in
      test.origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
      let head = try test.request(for: "/a", ["Content-Length: 5"], method: "POST")
      // It never ends.
      let received = try await test.onSocket { client in
        try client.send(head)
        let start = try client.receive(exactly: 1)
        try client.send("ab")
        return start + (try client.receiveToEnd().bytes)
      }
      #expect(try AnswerReader.read(received).map(\.status) == [405])
    }
  }

  @Test func `A stalled request body is answered 408`() async throws {
    try await withReverseProxy(proxy: { configuration in
      configuration.headTimeout = .milliseconds(200)
    }) { test in
      test.origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
      let received = try await test.onSocket { client in
        try client.send(
          try test.request(for: "/a", ["Content-Length: 1000"], method: "POST") + "abc")
        return try client.receiveToEnd().bytes
      }
      #expect(try AnswerReader.read(received).map(\.status) == [408])
      try await eventually("it is gone") { test.proxy.connectionCount == 0 }
      try await eventually("nothing is asked any more") { test.origin.log("/a").running == 0 }
    }
  }

  @Test func `Slowly arriving bytes do not extend a head's timeout`() async throws {
    try await withProxy(proxy: { configuration, _ in
      configuration.headTimeout = .milliseconds(300)
    }) { test in
      let received = try await test.onSocket { client in
        try client.send("GET / HTTP/1.1\r\nHost: a\r\nX: ")
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .seconds(15) {
          try client.send("y")
          if try client.isReadable(within: 50) { break }
        }
        return try client.receiveToEnd().bytes
      }
      #expect(try AnswerReader.read(received).map(\.status) == [408])
      try await eventually("it is gone") { test.proxy.connectionCount == 0 }
    }
  }

  @Test func `Refused connections are closed even if the client keeps them open`() async throws {
    try await withProxy { test in
      let port = test.port
      try await onThread {
        // None of them reads on or closes.
        let clients = try (0..<10).map { _ in try PlainSocket(port: port) }
        for client in clients { try client.send("nonsense\r\n\r\n") }
        for client in clients {
          let bytes = try client.receive(exactly: 12)
          guard bytes == Array("HTTP/1.1 400".utf8) else { throw PlainSocket.TookTooLong() }
        }
        for _ in 0..<20_000 where test.proxy.connectionCount > 0 { usleep(1000) }
        withExtendedLifetime(clients) {}
      }
      #expect(test.proxy.connectionCount == 0)
    }
  }

  /// In HTTP/1.0 only the end of the connection marks the end of the body.
  @Test func `A client that does not read a body without a length is reset`() async throws {
    try await withProxy(proxy: { configuration, _ in
      configuration.sendTimeout = .milliseconds(300)
    }) { test in
      var open = OriginResource(.synthetic(seed: 1, length: 40 << 20), etag: "\"1\"")
      open.declaresLength = false
      open.supportsRanges = false
      test.origin.serve(open, at: "/open")
      let target = try test.target("/open")
      let wasReset = try await test.onSocket(receiveBuffer: 32 << 10) { client in
        try client.send("GET \(target) HTTP/1.0\r\n\r\n")
        for _ in 0..<20_000 where test.log.all.isEmpty { usleep(1000) }
        return try client.receiveToEnd().wasReset
      }
      #expect(wasReset)
    }
  }
}
