// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import Refrain

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// Actions that libcurl takes by itself, or fails to take.
  @Suite(.timeLimit(.minutes(1))) struct CurlTransportTests {
    private let transport = CurlTransport()

    private func answer(
      _ text: String, _ body: (OriginResponse) async throws -> Void
    ) async throws {
      let server = try RawServer.answering(text)
      defer { server.stop() }
      try await body(transport.send(OriginRequest(url: server.url())))
    }

    @Test func `A request contains only Host and the given fields`() async throws {
      let server = try EchoingServer()
      defer { server.stop() }
      let fields: HeaderFields = ["X-Empty": "", "x-b": " 2 ", "User-Agent": "me"]
      let response = try await transport.send(OriginRequest(url: server.url("/a"), headers: fields))
      #expect(
        try await response.text()
          == "GET /a HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\nX-Empty:\r\nx-b:  2 \r\n"
          + "User-Agent: me\r\n\r\n")
    }

    @Test func `A user and password in the URL are not sent`() async throws {
      let server = try EchoingServer()
      defer { server.stop() }
      let url = try #require(URL(string: "http://user:secret@127.0.0.1:\(server.port)/"))
      let text = try await transport.send(OriginRequest(url: url)).text()
      #expect(!text.contains("Authorization") && !text.contains("secret"))
    }

    @Test func `The body of a response that is not retained is read to its end`() async throws {
      let server = try RawServer { connection in
        _ = connection.readRequest()
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n")
        for _ in 0..<100 { connection.send([UInt8](repeating: 7, count: 3000)) }
        connection.waitForEnd()
      }
      defer { server.stop() }
      var count = 0
      for try await chunk in try await transport.send(OriginRequest(url: server.url())).body {
        count += chunk.count
      }
      #expect(count == 300_000)
    }

    @Test func `Interim responses and trailers are left out`() async throws {
      try await answer(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
          + "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nETag: \"t\"\r\n\r\n"
      ) { response async throws in
        #expect(response.status == 200 && response.headers["Link"] == nil)
        #expect(try await response.text() == "abc")
      }
    }

    @Test(arguments: [(1, 200_000), (40, 8_000), (4000, 100)])
    func `A head with a huge field or of more than 300 KB is malformed`(
      _ count: Int, _ size: Int
    ) async throws {
      let field = String(repeating: "x", count: size)
      let fields = (0..<count).map { "X-\($0): \(field)\r\n" }.joined()
      let error = await #expect(throws: TransportError.self) {
        try await answer("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 0\r\n\r\n") { _ in }
      }
      #expect(error?.code == .malformed)
    }

    @Test func `Requests cancelled during a name lookup do not block others`() async throws {
      let server = try EchoingServer()
      defer { server.stop() }
      let url = try #require(URL(string: "http://nobody-knows.example/"))
      let asking = (0..<20).map { _ in
        Task { [transport] in try await transport.send(OriginRequest(url: url)) }
      }
      for task in asking { task.cancel() }
      for task in asking {
        await #expect(throws: (any Error).self) { _ = try await task.value }
      }
      #expect(try await transport.send(OriginRequest(url: server.url())).status == 200)
    }

    @Test func `Connections are not inherited by child processes`() async throws {
      let server = try RawServer { connection in
        _ = connection.readRequest()
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc")
        connection.waitForEnd()
      }
      defer { server.stop() }
      let settings = CurlTransport.Settings(environment: [:])
      let transport = CurlTransport(settings)
      let response = try await transport.send(OriginRequest(url: server.url()))
      let connections = openConnections(to: server.port)
      #expect(connections.count == 1)
      #expect(connections.allSatisfy { fcntl($0, F_GETFD) == FD_CLOEXEC })
      withExtendedLifetime(response) {}
    }

    /// Each keeps the chunk that it was given when it was the last one to begin: a killed process
    /// loses no more than 256 KiB.
    @Test func `Four exchanges that start at the worst moments hold less than 192 KiB`() {
      let chunks = (1...5).map { CurlExchange.limits(exchanges: $0).full + 16 << 10 }
      #expect(chunks.reduce(0, +) <= 192 << 10)
      let (none, one) = (CurlExchange.limits(exchanges: 0), CurlExchange.limits(exchanges: 1))
      #expect(one.chunks == none.chunks && one.full == none.full)
      #expect(CurlExchange.limits(exchanges: 500).full == 8 << 10)
    }

    @Test func `Connections are reused`() async throws {
      let server = try EchoingServer()
      defer { server.stop() }
      let settings = CurlTransport.Settings(environment: ["no_proxy": "used.again"])
      let transport = CurlTransport(settings)
      for _ in 0..<20 {
        _ = try await transport.send(OriginRequest(url: server.url())).text()
      }
      #expect(server.connectionCount == 1)
    }
  }

  /// The descriptors of this process that are connected to a port.
  func openConnections(to port: UInt16) -> [Int32] {
    (0..<4096).filter { descriptor in
      var address = sockaddr_in()
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let isKnown = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          getpeername(descriptor, $0, &length) == 0
        }
      }
      return isKnown && address.sin_family == sa_family_t(AF_INET)
        && UInt16(bigEndian: address.sin_port) == port
    }
  }

  /// A server that responds with the head of each request.
  final class EchoingServer: Sendable {
    private let server: RawServer
    var port: UInt16 { server.port }
    var connectionCount: Int { server.connections.count }

    init() throws {
      server = try RawServer { connection in
        while true {
          let head = connection.readRequest()
          guard head.hasSuffix("\r\n\r\n") else { return }
          connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(head.utf8.count)\r\n\r\n\(head)")
        }
      }
    }

    func url(_ path: String = "/") throws -> URL { try server.url(path) }

    func stop() { server.stop() }
  }

  extension OriginResponse {
    func text() async throws -> String { String(decoding: try await whole(), as: UTF8.self) }
  }
#endif
