// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Testing

  @testable import Refrain

  /// Behavior specific to `URLSessionRequests`.
  @Suite(.timeLimit(.minutes(1))) struct URLSessionTests {
    @Test func `Released transports and bodies close their connections`() async throws {
      let server = try RawServer { connection in
        _ = connection.readRequest()
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc")
        _ = connection.readRequest()
      }
      defer { server.stop() }
      for _ in 0..<50 {
        var responses = [OriginResponse]()
        for _ in 0..<3 {
          responses.append(try await URLSessionRequests().send(OriginRequest(url: server.url())))
        }
        #expect(responses.map(\.status) == [200, 200, 200])
      }
      try await eventually("every connection is closed") {
        server.connections.count == 150 && server.connections.allSatisfy { $0.requestCount == 2 }
      }
    }

    @Test func `A task that is cancelled at any moment ends`() async throws {
      let server = try RawServer { connection in
        while connection.readRequest().hasSuffix("\r\n\r\n") {
          connection.send("HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 3\r\n\r\nabc")
        }
      }
      defer { server.stop() }
      let transport = URLSessionRequests()
      let url = try server.url()
      for round in 0..<300 {
        let asking = Task { try await transport.send(OriginRequest(url: url)).whole() }
        for _ in 0..<round % 20 { await Task.yield() }
        if round % 3 == 0 { try await Task.sleep(for: .microseconds(round * 5)) }
        asking.cancel()
        switch await asking.result {
        case .success(let body): #expect(body.isEmpty)
        case .failure(let error): #expect(error is CancellationError)
        }
      }
    }
  }
#endif
