// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import Refrain

  /// The errors of `Transport` when a server, or the path to it, breaks the rules.
  @Suite(.timeLimit(.minutes(1))) struct TransportFailureTests {
    /// Returns the error that a server's bytes cause, in the head or in the body.
    private func failure(
      after script: @escaping @Sendable (RawServer.Connection) -> Void
    ) async throws -> TransportError? {
      let server = try RawServer(script)
      defer { server.stop() }
      do {
        _ = try await CurlTransport().send(OriginRequest(url: server.url())).whole()
        return nil
      } catch let error as TransportError {
        print("  \(error.code): \(error.reason)")
        return error
      }
    }

    @Test
    func `A connection that ends too early is reported as lost`() async throws {
      let error = try await failure { connection in
        _ = connection.readRequest()
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
      }
      #expect(error?.code == .connectionLost)
      #expect(error?.reason.contains("127.0.0.1") == true)
    }

    @Test
    func `Bytes received before a break are passed on even if they are read late`() async throws {
      let sent = (0..<60_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
      let server = try RawServer { connection in
        _ = connection.readRequest()
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        connection.send(sent)
        connection.endSending()
        connection.waitForEnd()
      }
      defer { server.stop() }
      let response = try await CurlTransport().send(OriginRequest(url: server.url()))
      try await eventually("all is sent") {
        (server.connections.first?.sent ?? 0) > sent.count
      }
      var came: [UInt8] = []
      do {
        for try await chunk in response.body { came += chunk }
        Issue.record("It ended as if it were whole.")
      } catch let error as TransportError {
        #expect(error.code == .connectionLost)
      }
      #expect(came == sent)
    }

    @Test
    func `A reset connection is reported as lost`() async throws {
      let error = try await failure { connection in
        _ = connection.readRequest()
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
        Thread.sleep(forTimeInterval: 0.1)
        connection.resetOnClose()
      }
      #expect(error?.code == .connectionLost)
    }

    @Test
    func `A chunked body that ends too early is reported as a lost connection`() async throws {
      let error = try await failure { connection in
        _ = connection.readRequest()
        connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nabc")
      }
      #expect(error?.code == .connectionLost)
    }

    @Test
    func `A connection that ends without a response is reported as lost`() async throws {
      let none = try await failure { _ = $0.readRequest() }
      #expect(none?.code == .connectionLost)
      let halfAHead = try await failure { connection in
        _ = connection.readRequest()
        connection.send("HTTP/1.1 200 OK\r\nContent-")
      }
      #expect(halfAHead?.code == .connectionLost)
    }

    @Test(
      arguments: [
        "SSH-2.0-OpenSSH_9.6\r\n", "\0\u{1}\u{2}\u{3}garbage\r\n\r\n", "HTTP/9.9 abc\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc",
        "HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello",
      ])
    func `A response that is not valid HTTP is reported as malformed`(
      _ answer: String
    ) async throws {
      let error = try await failure { connection in
        _ = connection.readRequest()
        connection.send(answer)
        Thread.sleep(forTimeInterval: 0.3)
      }
      #expect(error?.code == .malformed)
      // The reason names HTTP terms, not those of a parser's source.
      #expect(error?.reason.contains("constant") == false)
    }

    @Test(arguments: [1, 90, 1000])
    func `Headers of 100 KB are either accepted or reported as malformed`(
      _ count: Int
    ) async throws {
      let field = String(repeating: "x", count: 100_000 / count)
      let fields = (0..<count).map { "X-\($0): \(field)\r\n" }.joined()
      let server = try RawServer.answering(
        "HTTP/1.1 200 OK\r\n\(fields)Content-Length: 2\r\n\r\nok")
      defer { server.stop() }
      do {
        let response = try await CurlTransport().send(OriginRequest(url: server.url()))
        #expect(try await response.whole() == Data("ok".utf8))
      } catch let error as TransportError {
        print("  \(error.code): \(error.reason)")
        #expect(error.code == .malformed)
      }
    }

    @Test
    func `A refused connection is reported quickly and names the host`() async throws {
      let transport = CurlTransport()
      let url = try #require(URL(string: "http://127.0.0.1:\(try RawServer.deafPort())/"))
      // The transport does not retry for the 10 s that connecting may take: on a busy machine, one
      // quick failure among several proves it.
      var quickest = Duration.seconds(3600)
      for _ in 1...5 where quickest > .seconds(5) {
        let start = ContinuousClock.now
        let error = await #expect(throws: TransportError.self) {
          _ = try await transport.send(OriginRequest(url: url))
        }
        quickest = min(quickest, ContinuousClock.now - start)
        #expect(error?.code == .refused)
        #expect(error?.reason.hasPrefix("127.0.0.1 ") == true)
      }
      #expect(quickest < .seconds(5))
    }

    @Test
    func `A name without an address is reported with its host, and tried twice`() async throws {
      let url = try #require(URL(string: "http://does-not-exist.invalid/"))
      let error = await #expect(throws: TransportError.self) {
        _ = try await CurlTransport().send(OriginRequest(url: url))
      }
      print("  \(error?.reason ?? "")")
      #expect(error?.code == .unreachable && error?.cause == .noAddress)
      #expect(error?.reason.contains("does-not-exist.invalid") == true)
      #expect(try MediaCacheError(#require(error), .playback).retry == .invalid)
    }

    @Test
    func `A server without TLS is unreachable over https`() async throws {
      let server = try RawServer { connection in
        connection.send("HTTP/1.1 400 Bad Request\r\n\r\n")
        connection.waitForEnd()
      }
      defer { server.stop() }
      let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
      let error = await #expect(throws: TransportError.self) {
        _ = try await CurlTransport().send(OriginRequest(url: url))
      }
      print("  \(error?.reason ?? "")")
      #expect(error?.code == .unreachable)
    }

    @Test(
      arguments: [
        "ftp://h/a", "file:///etc/passwd", "http:///a", "unix:///x", "a", "http+unix://x/a",
        "http://127.0.0.1:99999/", "http://127.0.0.1:0/",
      ])
    func `A URL that cannot be requested is an error`(
      _ text: String
    ) async throws {
      let url = try #require(URL(string: text))
      let error = await #expect(throws: TransportError.self) {
        _ = try await CurlTransport().send(OriginRequest(url: url))
      }
      #expect(error?.code == .badURL)
    }

    @Test(
      arguments: [
        ("A\r\nB", "x"), ("A B", "x"), ("", "x"), ("A:", "x"), ("é", "x"), ("A", "secret\r\nB: x"),
        ("A", "secret\n"), ("A", "secret\u{0}"), ("A", "secret\u{7F}"),
      ])
    func `An invalid header is an error that does not reveal its value`(
      _ field: (String, String)
    ) async throws {
      let (name, value) = field
      let url = try #require(URL(string: "http://127.0.0.1:\(try RawServer.deafPort())/"))
      let error = await #expect(throws: TransportError.self) {
        _ = try await CurlTransport().send(OriginRequest(url: url, headers: [name: value]))
      }
      #expect(error?.code == .badURL)
      #expect(error?.reason.contains("secret") == false)
    }
  }
#endif
