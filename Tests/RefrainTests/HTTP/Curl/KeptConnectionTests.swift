// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import Refrain

  /// Kept connections on which something arrives that belongs to no response.
  @Suite(.timeLimit(.minutes(1))) struct KeptConnectionTests {
    /// One whose connections no other test uses.
    private func transport(_ name: String) -> CurlTransport {
      let settings = CurlTransport.Settings(environment: ["no_proxy": name])
      return CurlTransport(settings)
    }

    private static let fake = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"

    @Test(arguments: [
      "MORE THAN ANNOUNCED", fake, "\r\n", "\0", "HTTP/1.1 200 OK\r\nContent-Length: +4\r\n\r\n",
      "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    ])
    func `Bytes after a body are not taken for the next response`(_ more: String) async throws {
      // Longer than libcurl's buffer, so that it does not read beyond the length.
      let body = [UInt8](repeating: 7, count: 200_000)
      let server = try RawServer { connection in
        while connection.readRequest().hasSuffix("\r\n\r\n") {
          connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
          connection.send(body + Array(more.utf8))
        }
      }
      defer { server.stop() }
      let transport = transport("more.\(more.utf8.count)")
      for _ in 0..<4 {
        let request = OriginRequest(url: try server.url())
        #expect(try await transport.send(request).whole() == Data(body))
        try await eventually("everything is sent") {
          server.connections.allSatisfy {
            $0.isClosedByClient || $0.sent >= body.count + more.utf8.count
          }
        }
      }
    }

    /// The bytes come when the next request is already sent.
    @Test(arguments: ["GET", "POST"])
    func `A request that meets foreign bytes is sent again, once, if it may be`(
      _ method: String
    ) async throws {
      let server = try RawServer { connection in
        var isFirst = true
        while connection.readRequest().hasSuffix("\r\n\r\n") {
          if !isFirst { connection.send("MORE THAN ANNOUNCED") }
          isFirst = false
          connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        }
      }
      defer { server.stop() }
      let transport = transport("late.\(method)")
      for _ in 0..<3 {
        let request = OriginRequest(relaying: method, url: try server.url(), headers: [:])
        #expect(try await transport.send(request).whole() == Data("hello".utf8))
      }
      #expect(server.connections.count == 3)
    }

    @Test func `A malformed response on a new connection is reported at once`() async throws {
      let server = try RawServer.answering("MORE THAN ANNOUNCED")
      defer { server.stop() }
      let error = await #expect(throws: TransportError.self) {
        try await transport("malformed").send(OriginRequest(url: server.url())).whole()
      }
      #expect(error?.code == .malformed && server.connections.count == 1)
    }
  }
#endif
