// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Testing

  @testable import Refrain

  /// What `Transport` promises, against a server that can break every rule.
  @Suite(.timeLimit(.minutes(2))) struct TransportTests {
    let transport: any Transport = AsyncHTTPClientTransport()

    private func read(_ response: OriginResponse) async throws -> Data {
      var whole = Data()
      for try await chunk in response.body { whole.append(chunk) }
      return whole
    }

    /// The error that a server's bytes end in, whether before the head or in the body.
    private func failure(
      after script: @escaping @Sendable (RawServer.Connection) -> Void
    ) async throws -> TransportError? {
      let server = try RawServer(script)
      defer { server.stop() }
      do {
        _ = try await read(try await transport.send(OriginRequest(url: server.url())))
        return nil
      } catch let error as TransportError {
        print("  \(error.code): \(error.reason)")
        return error
      }
    }

    private func eventually(
      within seconds: Double = 10, _ condition: () -> Bool
    ) async throws -> Bool {
      let end = ContinuousClock.now + .seconds(seconds)
      while !condition() {
        if ContinuousClock.now > end { return false }
        try await Task.sleep(for: .milliseconds(10))
      }
      return true
    }

    @Test func `A body arrives whole, and the request as it was made`() async throws {
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
      let response = try await transport.send(
        OriginRequest(url: url, headers: ["Range": "bytes=0-"]))
      #expect(response.status == 206)
      #expect(response.headers["x-seen"] == "GET /a%2Fb%7ec?x=%5b+%e4&y=a/b?c HTTP/1.1")
      #expect(response.headers["X-Range"] == "yes")
      #expect(response.headers.values(of: "x-two") == ["1", "2"])
      #expect(try await read(response) == Data(body))
    }

    @Test func `A chunked body arrives whole`() async throws {
      let server = try RawServer { connection in
        _ = connection.readRequest()
        connection.send(
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n")
        connection.waitForEnd()
      }
      defer { server.stop() }
      let response = try await transport.send(OriginRequest(url: server.url()))
      #expect(try await read(response) == Data("abcdefg".utf8))
    }

    @Test(arguments: [
      "/", "/a?", "/?", "/a;b=c,d:e@f!$&'()*+~_-.", "//a//b/", "/a/../b/./c", "/%2e%2e/%2F%2f%25",
      "/%C3%A4/%c3%a4?%C3%A4=%e4&a=b+c%20d&e=https://h/?f&g", "/a?b?c/d;e:@!$'()*,~",
    ])
    func `The target of the request is the URL's, byte for byte`(_ target: String) async throws {
      let server = try RawServer { connection in
        let line = connection.readRequest().prefix { $0 != "\r\n" }
        connection.send("HTTP/1.1 200 OK\r\nX-Line: \(line)\r\nContent-Length: 0\r\n\r\n")
        connection.waitForEnd()
      }
      defer { server.stop() }
      let response = try await transport.send(OriginRequest(url: server.url(target)))
      #expect(response.headers["X-Line"] == "GET \(target) HTTP/1.1")
    }

    @Test func `Forty bodies that nobody reads leave room for another request`() async throws {
      let server = try RawServer { connection in
        _ = connection.readRequest()
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
        connection.waitForEnd()
      }
      defer { server.stop() }
      var open: [OriginResponse] = []
      for _ in 0...40 { open.append(try await transport.send(OriginRequest(url: server.url()))) }
      #expect(open.count == 41 && server.connections.count == 41)
    }

    @Test func `A redirect is handed on, not followed`() async throws {
      let server = try RawServer { connection in
        _ = connection.readRequest()
        connection.send("HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n")
        connection.waitForEnd()
      }
      defer { server.stop() }
      let response = try await transport.send(OriginRequest(url: server.url()))
      #expect(response.status == 302)
      #expect(response.headers["Location"] == "/other")
    }

    @Test func `An encoded body is not decoded`() async throws {
      let server = try RawServer { connection in
        _ = connection.readRequest()
        connection.send(
          "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope")
        connection.waitForEnd()
      }
      defer { server.stop() }
      let response = try await transport.send(OriginRequest(url: server.url()))
      #expect(try await read(response) == Data("nope".utf8))
    }

    @Test func `A body that nobody reads stops the server`() async throws {
      let total = 64 << 20
      let server = try RawServer { connection in
        _ = connection.readRequest()
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(total)\r\n\r\n")
        let chunk = [UInt8](repeating: 7, count: 64 << 10)
        for _ in 0..<(total / chunk.count) { guard connection.send(chunk) else { return } }
        connection.waitForEnd()
      }
      defer { server.stop() }
      let response = try await transport.send(OriginRequest(url: server.url()))
      var iterator = response.body.makeAsyncIterator()
      var received = try await iterator.next()?.count ?? 0
      let connection = try #require(server.connections.first)

      // Wait until the server has not been able to send for half a second.
      var sent = -1
      while sent != connection.sent {
        sent = connection.sent
        try await Task.sleep(for: .milliseconds(500))
      }
      print("  sent \(sent >> 10) KiB while \(received >> 10) KiB were read")
      // Loopback sockets swallow some 10 MiB by themselves: tcp_wmem and tcp_rmem.
      #expect(sent < 12 << 20)

      while let chunk = try await iterator.next() { received += chunk.count }
      #expect(received == total)
    }

    @Test func `Cancelling the reading task closes the connection`() async throws {
      let server = try RawServer { connection in
        _ = connection.readRequest()
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
        connection.waitForEnd()
      }
      defer { server.stop() }
      let response = try await transport.send(OriginRequest(url: server.url()))
      let (started, signal) = AsyncStream.makeStream(of: Void.self)
      let reading = Task {
        for try await _ in response.body { signal.yield() }
      }
      for await _ in started { break }
      reading.cancel()
      await #expect(throws: CancellationError.self) { try await reading.value }
      #expect(try await eventually { server.connections.first?.isClosedByClient == true })
    }

    @Test func `Cancelling before the head closes the connection`() async throws {
      let server = try RawServer { connection in
        _ = connection.readRequest()
        connection.waitForEnd()
      }
      defer { server.stop() }
      let transport = transport
      let url = try server.url()
      let asking = Task { try await transport.send(OriginRequest(url: url)) }
      // A request cancelled before it was sent leaves its connection to the next one.
      #expect(try await eventually { server.connections.first?.requestCount == 1 })
      asking.cancel()
      await #expect(throws: CancellationError.self) { _ = try await asking.value }
      #expect(try await eventually { server.connections.first?.isClosedByClient == true })
    }

    @Test func `Dropping the body closes the connection`() async throws {
      let server = try RawServer { connection in
        _ = connection.readRequest()
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
        connection.waitForEnd()
      }
      defer { server.stop() }
      var status: Int? = try await transport.send(OriginRequest(url: server.url())).status
      #expect(status == 200)
      status = nil
      #expect(try await eventually { server.connections.first?.isClosedByClient == true })
    }

    @Test func `Dropping the iterator half way closes the connection`() async throws {
      let server = try RawServer { connection in
        _ = connection.readRequest()
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
        connection.waitForEnd()
      }
      defer { server.stop() }
      let response = try await transport.send(OriginRequest(url: server.url()))
      for try await _ in response.body { break }
      #expect(try await eventually { server.connections.first?.isClosedByClient == true })
    }

    @Test func `A connection that ends too early is lost`() async throws {
      let error = try await failure { connection in
        _ = connection.readRequest()
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
      }
      #expect(error?.code == .connectionLost)
      #expect(error?.reason.contains("127.0.0.1") == true)
    }

    @Test func `A connection that is reset is lost`() async throws {
      let error = try await failure { connection in
        _ = connection.readRequest()
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
        Thread.sleep(forTimeInterval: 0.1)
        connection.resetOnClose()
      }
      #expect(error?.code == .connectionLost)
    }

    @Test func `A chunked body that ends too early is lost`() async throws {
      let error = try await failure { connection in
        _ = connection.readRequest()
        connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nabc")
      }
      #expect(error?.code == .connectionLost)
    }

    @Test func `A connection that ends without an answer is lost`() async throws {
      #expect(try await failure { _ = $0.readRequest() }?.code == .connectionLost)
      let halfAHead = try await failure { connection in
        _ = connection.readRequest()
        connection.send("HTTP/1.1 200 OK\r\nContent-")
      }
      #expect(halfAHead?.code == .connectionLost)
    }

    @Test(arguments: [
      "SSH-2.0-OpenSSH_9.6\r\n", "\0\u{1}\u{2}\u{3}garbage\r\n\r\n", "HTTP/9.9 abc\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999999\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc",
      "HTTP/1.1 200 OK\r\nBad Header\u{1}: x\r\n\r\n",
    ])
    func `What is not HTTP is malformed`(_ answer: String) async throws {
      let error = try await failure { connection in
        _ = connection.readRequest()
        connection.send(answer)
        Thread.sleep(forTimeInterval: 0.3)
      }
      #expect(error?.code == .malformed)
    }

    @Test(arguments: [1, 90, 1000])
    func `100 KB of headers end in an answer or an error`(_ count: Int) async throws {
      let field = String(repeating: "x", count: 100_000 / count)
      let fields = (0..<count).map { "X-\($0): \(field)\r\n" }.joined()
      let server = try RawServer { connection in
        _ = connection.readRequest()
        connection.send("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 2\r\n\r\nok")
        connection.waitForEnd()
      }
      defer { server.stop() }
      do {
        let response = try await transport.send(OriginRequest(url: server.url()))
        #expect(try await read(response) == Data("ok".utf8))
      } catch let error as TransportError {
        print("  \(error.code): \(error.reason)")
        #expect(error.code == .malformed)
      }
    }

    @Test func `A refused connection is reported at once, and names the host`() async throws {
      let url = try #require(URL(string: "http://127.0.0.1:\(try RawServer.deafPort())/"))
      // AsyncHTTPClient by itself would try again for the 10 s that connecting may take. On a busy
      // machine one quick answer of several proves that it does not.
      var quickest = Duration.seconds(3600)
      for _ in 1...5 where quickest > .seconds(5) {
        let start = ContinuousClock.now
        let error = await #expect(throws: TransportError.self) {
          _ = try await transport.send(OriginRequest(url: url))
        }
        quickest = min(quickest, ContinuousClock.now - start)
        #expect(error?.code == .unreachable)
        #expect(error?.reason == "127.0.0.1 refused the connection.")
      }
      #expect(quickest < .seconds(5))
    }

    @Test func `A name that does not exist is unreachable`() async throws {
      let url = try #require(URL(string: "http://does-not-exist.invalid/"))
      let error = await #expect(throws: TransportError.self) {
        _ = try await transport.send(OriginRequest(url: url))
      }
      print("  \(error?.reason ?? "")")
      #expect(error?.code == .unreachable)
      #expect(error?.reason.contains("does-not-exist.invalid") == true)
    }

    @Test func `A server without TLS is unreachable over https`() async throws {
      let server = try RawServer { connection in
        connection.send("HTTP/1.1 400 Bad Request\r\n\r\n")
        connection.waitForEnd()
      }
      defer { server.stop() }
      let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
      let error = await #expect(throws: TransportError.self) {
        _ = try await transport.send(OriginRequest(url: url))
      }
      print("  \(error?.reason ?? "")")
      #expect(error?.code == .unreachable)
    }

    @Test(arguments: [
      "ftp://h/a", "file:///etc/passwd", "http:///a", "unix:///x", "a", "http+unix://x/a",
      "http://h/%E4",
      "http://127.0.0.1:99999/", "http://127.0.0.1:0/",
    ])
    func `A URL that cannot be asked for is an error`(_ text: String) async throws {
      let url = try #require(URL(string: text))
      let error = await #expect(throws: TransportError.self) {
        _ = try await transport.send(OriginRequest(url: url))
      }
      #expect(error?.code == .badURL)
    }

    @Test(arguments: [
      ("A\r\nB", "x"), ("A B", "x"), ("", "x"), ("A:", "x"), ("é", "x"), ("A", "secret\r\nB: x"),
      ("A", "secret\n"), ("A", "secret\u{0}"), ("A", "secret\u{7F}"),
    ])
    func `A header that cannot be sent is an error that keeps its value to itself`(
      _ name: String, _ value: String
    ) async throws {
      let url = try #require(URL(string: "http://127.0.0.1:\(try RawServer.deafPort())/"))
      let error = await #expect(throws: TransportError.self) {
        _ = try await transport.send(OriginRequest(url: url, headers: [name: value]))
      }
      #expect(error?.code == .badURL)
      #expect(error?.reason.contains("secret") == false)
    }
  }
#endif
