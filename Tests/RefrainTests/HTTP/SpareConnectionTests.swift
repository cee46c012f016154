// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import RefrainLocks
  import TestSupport
  import Testing

  @testable import Refrain

  /// A connection that is opened in advance where connecting is slow, for a player that jumps.
  @Suite(.timeLimit(.minutes(1))) final class SpareConnectionTests: Sendable {
    /// The connection of each request, in order.
    private let asked = Mutex<[RawServer.Connection]>([])

    /// The connections of `asked` as indices in the order in which the server accepted them.
    private func asked(_ server: RawServer) -> [Int] {
      let all = server.connections
      return asked.withLock(\.self).compactMap { asked in all.firstIndex { $0 === asked } }
    }

    /// Responds to each request with the start of a long body.
    private func server() throws -> RawServer {
      try RawServer { [self] connection in
        guard connection.readRequest().hasPrefix("GET") else { return }
        asked.withLock { $0.append(connection) }
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\nbody")
        connection.waitForEnd()
      }
    }

    private func transport(slow: Int) -> CurlTransport {
      var settings = CurlTransport.Settings(environment: [:])
      settings.slowConnect = slow
      return CurlTransport(settings)
    }

    /// - Returns: the response that keeps the connection open while it lives.
    private func begin(
      _ transport: CurlTransport, _ server: RawServer,
      _ change: (inout OriginRequest) -> Void = { _ in }
    ) async throws -> OriginResponse {
      var request = OriginRequest(url: try server.url("/a"), headers: ["Range": "bytes=0-"])
      change(&request)
      let response = try await transport.send(request)
      #expect(response.status == 200)
      return response
    }

    @Test func `A second request uses the spare connection`() async throws {
      let server = try server()
      defer { server.stop() }
      // Any connection counts as slow.
      let transport = transport(slow: -1)
      let first = try await begin(transport, server)
      try await eventually("another is open") { server.connections.count == 2 }
      let second = try await begin(transport, server)
      #expect(asked(server) == [0, 1])
      // Another one is open for the next request.
      try await eventually("another is open") { server.connections.count == 3 }
      withExtendedLifetime((first, second)) {}
    }

    @Test func `A spare connection that the server has closed is not used`() async throws {
      let server = try server()
      defer { server.stop() }
      let transport = transport(slow: -1)
      let first = try await begin(transport, server)
      try await eventually("another is open") { server.connections.count == 2 }
      server.connections[1].endSending()
      let second = try await begin(transport, server)
      #expect(asked(server) == [0, 2])
      withExtendedLifetime((first, second)) {}
    }

    @Test
    func `A short range, a prefetch or a fast connect opens no spare connection`() async throws {
      let server = try server()
      defer { server.stop() }
      let eager = transport(slow: -1)
      var kept: [OriginResponse] = []
      kept.append(try await begin(eager, server) { $0.headers["Range"] = "bytes=0-65535" })
      kept.append(try await begin(eager, server) { $0.purpose = .prefetch })
      kept.append(try await begin(transport(slow: 1_000_000), server))
      // Any spare connection is open by the time a further request is answered.
      kept.append(try await begin(eager, server) { $0.headers["Range"] = "bytes=0-65535" })
      #expect(server.connections.count == 4 && asked(server) == [0, 1, 2, 3])
      withExtendedLifetime(kept) {}
    }
  }
#endif
