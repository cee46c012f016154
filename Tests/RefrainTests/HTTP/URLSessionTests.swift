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
  }
#endif
