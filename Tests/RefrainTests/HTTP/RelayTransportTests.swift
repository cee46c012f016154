// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import RefrainLocks
  import TestSupport
  import Testing

  @testable import Refrain

  /// The guarantees of `RelayingTransport`: any method, with or without a body.
  @Suite(.timeLimit(.minutes(1))) struct RelayTransportTests {
    /// A request as the server received it.
    private struct Seen: Sendable {
      var head = ""
      var body: [UInt8] = []
    }

    private final class Recorder: Sendable {
      private let seen = Mutex(Seen())
      var last: Seen { seen.withLock { $0 } }
      func note(_ new: Seen) { seen.withLock { $0 = new } }
    }

    /// A server that reads a whole request and records it.
    private func recordingServer(_ recorder: Recorder) throws -> RawServer {
      try RawServer { connection in
        var seen = Seen(head: connection.readRequest())
        let head = seen.head.lowercased()
        if let length = head.split(separator: "content-length: ").dropFirst().first {
          seen.body = connection.read(Int(length.prefix { $0.isNumber }) ?? 0) ?? []
        }
        recorder.note(seen)
        connection.send("HTTP/1.1 201 Created\r\nX-Here: 1\r\nContent-Length: 4\r\n\r\n")
        if !head.hasPrefix("head ") { connection.send("done") }
        connection.waitForEnd()
      }
    }

    @Test(
      arguments: ["GET", "HEAD", "DELETE", "OPTIONS", "PROPFIND", "POST"])
    func `A request without a body is relayed with its method and fields`(
      _ method: String
    ) async throws {
      let recorder = Recorder()
      let server = try recordingServer(recorder)
      defer { server.stop() }
      let response = try await CurlTransport().send(
        OriginRequest(relaying: method, url: server.url("/%E4/../x"), headers: ["X-A": "b"]))
      #expect(response.status == 201 && response.headers["X-Here"] == "1")
      #expect(try await response.text() == (method == "HEAD" ? "" : "done"))
      #expect(recorder.last.head.hasPrefix("\(method) /%E4/../x HTTP/1.1\r\n"))
      #expect(recorder.last.head.contains("X-A: b\r\n"))
      #expect(!recorder.last.head.lowercased().contains("content-length"))
    }

    @Test func `A request body is relayed completely`() async throws {
      let recorder = Recorder()
      let server = try recordingServer(recorder)
      defer { server.stop() }
      let parts = (0..<50).map { Data(repeating: UInt8($0), count: 10_007 * ($0 % 3)) }
      let whole = parts.reduce(Data(), +)
      let response = try await CurlTransport().send(
        OriginRequest(
          relaying: "PUT", url: server.url("/a"), headers: [:], body: .parts(parts)))
      #expect(try await response.text() == "done")
      #expect(recorder.last.body == Array(whole))
      #expect(recorder.last.head.hasPrefix("PUT /a HTTP/1.1\r\n"))
      #expect(!recorder.last.head.lowercased().contains("expect:"))
    }

    @Test func `An empty request body has the length zero`() async throws {
      let recorder = Recorder()
      let server = try recordingServer(recorder)
      defer { server.stop() }
      _ = try await CurlTransport().send(
        OriginRequest(
          relaying: "POST", url: server.url("/a"), headers: [:], body: .parts([])))
      #expect(recorder.last.head.lowercased().contains("content-length: 0\r\n"))
    }

    @Test func `A request fails with the error of its body`() async throws {
      struct Gone: Error {}
      let server = try RawServer { connection in
        _ = connection.readRequest()
        connection.waitForEnd()
      }
      defer { server.stop() }
      let isSent = Mutex(false)
      let body = OriginRequest.Body(length: 5000) {
        let wasSent = isSent.withLock { isSent in
          defer { isSent = true }
          return isSent
        }
        if wasSent { throw Gone() }
        return Data(repeating: 1, count: 1000)
      }
      await #expect(throws: Gone.self) {
        _ = try await CurlTransport().send(
          OriginRequest(relaying: "PUT", url: server.url("/a"), headers: [:], body: body))
      }
      try await eventually("the connection is closed, if there was one") {
        server.connections.allSatisfy(\.isClosedByClient)
      }
    }

    @Test func `A response before the end of the request body is passed on`() async throws {
      let server = try RawServer.answering("HTTP/1.1 403 No\r\nContent-Length: 3\r\n\r\nno!")
      defer { server.stop() }
      let body = OriginRequest.Body(length: 1) {
        // A body as slow as its client: it never comes.
        try await Task.sleep(for: .seconds(3600))
        return Data([1])
      }
      let response = try await CurlTransport().send(
        OriginRequest(relaying: "POST", url: server.url("/a"), headers: [:], body: body))
      #expect(response.status == 403)
      #expect(try await response.text() == "no!")
    }

    @Test func `A server that stops reading pauses the request body`() async throws {
      let gate = DispatchSemaphore(value: 0)
      let server = try RawServer { connection in
        _ = connection.readRequest()
        gate.wait()
        connection.waitForEnd()
      }
      defer { server.stop() }
      let taken = Mutex(0)
      let body = OriginRequest.Body(length: 100_000_000) {
        taken.withLock { $0 += 1 }
        return Data(repeating: 0, count: 100_000)
      }
      let url = try server.url("/a")
      let asking = Task {
        try await CurlTransport().send(
          OriginRequest(relaying: "POST", url: url, headers: [:], body: body))
      }
      // Wait until no bytes were read from the body for a while.
      var brought = -1
      while brought != taken.withLock({ $0 }) || brought == 0 {
        brought = taken.withLock { $0 }
        try await Task.sleep(for: .milliseconds(200))
      }
      #expect(brought < 1000)
      asking.cancel()
      gate.signal()
      await #expect(throws: CancellationError.self) { _ = try await asking.value }
      try await eventually("the connection is closed") {
        server.connections.allSatisfy(\.isClosedByClient)
      }
    }

    @Test func `A silent relayed request times out`() async throws {
      let server = try RawServer { connection in
        _ = connection.readRequest()
        connection.waitForEnd()
      }
      defer { server.stop() }
      var request = try OriginRequest(relaying: "GET", url: server.url("/a"), headers: [:])
      request.longestSilence = .seconds(1)
      let error = await #expect(throws: TransportError.self) {
        _ = try await CurlTransport().send(request)
      }
      #expect(error?.code == .timedOut)
    }

    @Test(arguments: ["POST", "PATCH", "LOCK"])
    func `A request that is not idempotent is not sent twice`(_ method: String) async throws {
      let count = Mutex(0)
      // The server responds to the first request of a connection, and closes at the second.
      let server = try RawServer { connection in
        _ = connection.readRequest()
        count.withLock { $0 += 1 }
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        if connection.readRequest().hasSuffix("\r\n\r\n") { count.withLock { $0 += 1 } }
      }
      defer { server.stop() }
      let transport = CurlTransport(.init(environment: ["no_proxy": "not.twice"]))
      _ = try await transport.send(
        OriginRequest(relaying: "GET", url: server.url("/a"), headers: [:])
      ).whole()
      _ = try await transport.send(
        OriginRequest(relaying: method, url: server.url("/a"), headers: [:])
      ).whole()
      #expect(count.withLock { $0 } == 2 && server.connections.count == 2)
    }
  }
#endif
