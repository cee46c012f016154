// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import Refrain

  /// Heads that break rules without leaving a doubt about the body.
  @Suite(.timeLimit(.minutes(1))) struct LenientHeadTests {
    /// Returns the response to a request; the connection stays open after it.
    private func answer(_ bytes: String) async throws -> (OriginResponse, RawServer) {
      let server = try RawServer.answering(bytes)
      return (try await CurlTransport().send(OriginRequest(url: server.url())), server)
    }

    @Test(arguments: [
      "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", "Content-Length: 5, 5\r\n\r\nhello",
      "Content-Length : 5\r\n\r\nhello", "Content-Length : 5\r\n\r\nhello and more",
      "Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello",
      "Content-Length: 5\r\nTransfer-Encoding: identity\r\n\r\nhello!",
      "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
      "X: 1\nContent-Length: 5\r\n\nhello", "X: a\u{1}b\r\nContent-Length: 5\r\n\r\nhello",
      "X: a\rb\r\nContent-Length: 5\r\n\r\nhello", "bad name: x\r\nContent-Length: 5\r\n\r\nhello",
      ": x\r\nContent-Length: 5\r\n\r\nhello",
    ])
    func `The body of a lenient head is whole`(_ head: String) async throws {
      let (response, server) = try await answer("HTTP/1.1 200 OK\r\n" + head)
      defer { server.stop() }
      #expect(try await response.whole() == Data("hello".utf8))
      #expect(response.headers.values(of: "Content-Length").count <= 1)
    }

    @Test(arguments: ["Content-Length : 0", "Transfer-Encoding: identity\r\nContent-Length: 0"])
    func `An empty body that libcurl does not know to be empty ends at once`(
      _ lines: String
    ) async throws {
      let (response, server) = try await answer("HTTP/1.1 200 OK\r\n\(lines)\r\n\r\n")
      defer { server.stop() }
      #expect(try await response.whole().isEmpty)
    }

    @Test(arguments: [204, 304])
    func `A response without a body is whole whatever its length`(_ status: Int) async throws {
      let (response, server) = try await answer(
        "HTTP/1.1 \(status) X\r\nContent-Length : 9\r\n\r\n")
      defer { server.stop() }
      #expect(try await response.whole().isEmpty)
    }

    @Test(arguments: [
      "Content-Length : 9", "Transfer-Encoding: identity\r\nContent-Length: 9",
      "Content-Length: 9, 9",
    ])
    func `A body shorter than its lenient length is a lost connection`(
      _ lines: String
    ) async throws {
      let server = try RawServer { connection in
        _ = connection.readRequest()
        connection.send("HTTP/1.1 200 OK\r\n\(lines)\r\n\r\nhello")
      }
      defer { server.stop() }
      let response = try await CurlTransport().send(OriginRequest(url: server.url()))
      let error = await #expect(throws: TransportError.self) { try await response.whole() }
      #expect(error?.code == .connectionLost)
    }

    @Test func `A body of unknown length ends with the connection`() async throws {
      let server = try RawServer { connection in
        _ = connection.readRequest()
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nhello")
      }
      defer { server.stop() }
      let response = try await CurlTransport().send(OriginRequest(url: server.url()))
      #expect(response.headers["Content-Length"] == nil)
      #expect(try await response.whole() == Data("hello".utf8))
    }

    @Test func `A long counted body is received in parts`() async throws {
      let bytes = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 3) }
      let server = try RawServer { connection in
        _ = connection.readRequest()
        connection.send("HTTP/1.1 200 OK\r\nContent-Length : \(bytes.count)\r\n\r\n")
        connection.send(bytes + [1, 2, 3])
        connection.waitForEnd()
      }
      defer { server.stop() }
      let response = try await CurlTransport().send(OriginRequest(url: server.url()))
      #expect(try await response.whole() == Data(bytes))
    }
  }
#endif
