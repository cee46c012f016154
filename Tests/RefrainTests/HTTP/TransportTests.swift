// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Testing

  @testable import Refrain

  /// The guarantees of `Transport`, against a server that can break every rule.
  @Suite(.timeLimit(.minutes(1))) struct TransportTests {
    @Test
    func `A request is sent unchanged, and its response arrives completely`() async throws {
      let body = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
      let server = try RawServer { connection in
        let request = connection.readRequest()
        connection.send(
          "HTTP/1.1 206 Partial Content\r\nX-Seen: \(request.prefix { $0 != "\r\n" })\r\n"
            + "X-Range: \(request.contains("Range: bytes=0-") ? "yes" : "no")\r\n"
            + "X-Two: 1\r\nx-two: 2\r\nContent-Length: \(body.count)\r\n\r\n")
        connection.send(body)
        connection.waitForEnd()
      }
      defer { server.stop() }
      let url = try server.url("/a%2Fb%7ec?x=%5b+%e4&y=a/b?c#fragment")
      let response = try await CurlTransport().send(
        OriginRequest(url: url, headers: ["Range": "bytes=0-"]))
      #expect(response.status == 206)
      #expect(response.headers["x-seen"] == "GET /a%2Fb%7ec?x=%5b+%e4&y=a/b?c HTTP/1.1")
      #expect(response.headers["X-Range"] == "yes")
      #expect(response.headers["x-two"] == "1, 2")
      #expect(try await response.whole() == Data(body))
    }

    @Test
    func `A chunked body arrives completely`() async throws {
      let server = try RawServer.answering(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n")
      defer { server.stop() }
      let response = try await CurlTransport().send(OriginRequest(url: server.url()))
      #expect(try await response.whole() == Data("abcdefg".utf8))
    }

    @Test(
      arguments: [
        "/", "/a?", "/?", "/a;b=c,d:e@f!$&'()*+~_-.", "//a//b/", "/a/../b/./c", "/%2e%2e/%2F%2f%25",
        "/%C3%A4/%c3%a4?%C3%A4=%e4&a=b+c%20d&e=https://h/?f&g", "/a?b?c/d;e:@!$'()*,~",
      ])
    func `The request target matches the URL byte for byte`(
      _ target: String
    ) async throws {
      let server = try RawServer { connection in
        let line = connection.readRequest().prefix { $0 != "\r\n" }
        connection.send("HTTP/1.1 200 OK\r\nX-Line: \(line)\r\nContent-Length: 0\r\n\r\n")
        connection.waitForEnd()
      }
      defer { server.stop() }
      let response = try await CurlTransport().send(OriginRequest(url: server.url(target)))
      #expect(response.headers["X-Line"] == "GET \(target) HTTP/1.1")
    }

    @Test
    func `A request succeeds beside forty unread bodies`() async throws {
      let transport = CurlTransport()
      let server = try RawServer.answering("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
      defer { server.stop() }
      var open: [OriginResponse] = []
      for _ in 0...40 { open.append(try await transport.send(OriginRequest(url: server.url()))) }
      #expect(open.count == 41)
      // A slow server may get a spare connection as well.
      #expect(server.connections.count >= 41)
    }

    @Test func `A redirect is passed on, not followed`() async throws {
      let server = try RawServer.answering(
        "HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n")
      defer { server.stop() }
      let response = try await CurlTransport().send(OriginRequest(url: server.url()))
      #expect(response.status == 302)
      #expect(response.headers["Location"] == "/other")
    }

    @Test
    func `An encoded body is not decoded`() async throws {
      let server = try RawServer.answering(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope")
      defer { server.stop() }
      let response = try await CurlTransport().send(OriginRequest(url: server.url()))
      #expect(try await response.whole() == Data("nope".utf8))
    }

    @Test func `An unread body stops the server from sending`() async throws {
      let total = 64 << 20
      let server = try RawServer { connection in
        _ = connection.readRequest()
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(total)\r\n\r\n")
        let chunk = [UInt8](repeating: 7, count: 64 << 10)
        for _ in 0..<(total / chunk.count) { guard connection.send(chunk) else { return } }
        connection.waitForEnd()
      }
      defer { server.stop() }
      let response = try await CurlTransport().send(OriginRequest(url: server.url()))
      var iterator = response.body.makeAsyncIterator()
      var received = try await iterator.next()?.count ?? 0
      let connection = try #require(server.connections.first)

      // Wait until the server could not send for a while.
      var sent = -1
      while sent != connection.sent {
        sent = connection.sent
        try await Task.sleep(for: .milliseconds(200))
      }
      print("  sent \(sent >> 10) KiB while \(received >> 10) KiB were read")
      // Loopback sockets buffer some 10 MiB by themselves: tcp_wmem and tcp_rmem.
      #expect(sent < 12 << 20)

      while let chunk = try await iterator.next() { received += chunk.count }
      #expect(received == total)
    }

    /// What ends a request before its response has ended.
    enum Leaving: CaseIterable, Sendable {
      case cancelledBeforeTheHead, cancelledInTheBody, droppedBody, droppedIterator
    }

    @Test(arguments: Leaving.allCases)
    func `A request that is left closes its connection`(
      _ leaving: Leaving
    ) async throws {
      let transport = CurlTransport()
      let server = try RawServer { connection in
        _ = connection.readRequest()
        if leaving != .cancelledBeforeTheHead {
          connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
        }
        connection.waitForEnd()
      }
      defer { server.stop() }
      let request = OriginRequest(url: try server.url())
      switch leaving {
      case .cancelledBeforeTheHead:
        let asking = Task { try await transport.send(request) }
        // A request cancelled before it was sent leaves its connection to the next one.
        try await eventually("the request is there") {
          server.connections.first?.requestCount == 1
        }
        asking.cancel()
        await #expect(throws: CancellationError.self) { _ = try await asking.value }
      case .cancelledInTheBody:
        let response = try await transport.send(request)
        let (started, signal) = AsyncStream.makeStream(of: Void.self)
        let reading = Task { for try await _ in response.body { signal.yield() } }
        for await _ in started { break }
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
      case .droppedBody:
        #expect(try await transport.send(request).status == 200)
      case .droppedIterator:
        for try await _ in try await transport.send(request).body { break }
      }
      try await eventually("the connection is closed") {
        server.connections.first?.isClosedByClient == true
      }
      withExtendedLifetime(transport) {}
    }

    @Test(arguments: [301, 302, 303, 304, 307, 308])
    func `A 3xx response without a Location is passed on, too`(_ status: Int) async throws {
      let server = try RawServer.answering(
        "HTTP/1.1 \(status) Somewhere\r\nX-Here: 1\r\nContent-Length: 0\r\n\r\n")
      defer { server.stop() }
      let response = try await CurlTransport().send(OriginRequest(url: server.url()))
      #expect(response.status == status && response.headers["X-Here"] == "1")
      #expect(try await response.whole().isEmpty)
    }

    @Test(arguments: [
      "/", "", "//", "http://", "http://[::1/", "//[::1]:99999/x", "/%", "/a b?c#d", "mailto:x",
      "http://h:0/", "?%zz", "é", "//@:/", "http://127.0.0.1:1/x?%41%",
    ])
    func `Any Location is passed on unchanged`(_ location: String) async throws {
      let server = try RawServer.answering(
        "HTTP/1.1 302 Found\r\nLocation: \(location)\r\nContent-Length: 3\r\n\r\nabc")
      defer { server.stop() }
      let response = try await CurlTransport().send(OriginRequest(url: server.url()))
      #expect(response.status == 302 && (response.headers["Location"] ?? "") == location)
      for try await _ in response.body {}
    }

    @Test(arguments: [
      nil, "Basic realm=\"r\"", "Bearer", "Bearer realm=\"r\", error=\"invalid_token\"",
      "Digest realm=\"r\", nonce=\"n\"", "Basic", "Negotiate", "NTLM", "", ",,=", "Basic realm=",
    ])
    func `A 401 is passed on with any challenge`(_ challenge: String?) async throws {
      let field = challenge.map { "WWW-Authenticate: \($0)\r\n" } ?? ""
      let server = try RawServer.answering(
        "HTTP/1.1 401 No\r\n\(field)Content-Length: 4\r\n\r\nno!\n")
      defer { server.stop() }
      let response = try await CurlTransport().send(OriginRequest(url: server.url()))
      #expect(response.status == 401)
      #expect(response.headers["WWW-Authenticate"] == challenge)
      #expect(try await response.whole() == Data("no!\n".utf8))
    }
  }
#endif
