// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainProxy
@testable import RefrainServer

extension TestProxy {
  /// The port of the listener for the operator.
  var adminPort: Int { server?.adminListeningAddress?.port ?? 0 }

  /// Sends one request to the listener for the operator.
  func admin(
    _ target: String, _ headers: [String] = [], method: String = "GET", host: String? = nil,
    body: String = ""
  ) async throws -> Reply {
    let host = host ?? "127.0.0.1:\(adminPort)"
    let fields = headers + (body.isEmpty ? [] : ["Content-Length: \(body.utf8.count)"])
    return try await RawConnection.open(port: adminPort) { connection in
      try await connection.request(target, fields, method: method, host: host)
      if !body.isEmpty { try await connection.send(body) }
      return try await connection.readReply(hasBody: method != "HEAD")
    }
  }

  func metrics() async throws -> MetricsReader {
    try MetricsReader(try await admin("/metrics").text)
  }
}

/// Runs a test with a shared reverse proxy of the origin that has a listener for the operator.
func withNode(
  cache change: (inout MediaCache.Configuration) -> Void = { _ in },
  server changeServer: (inout ProxyServer.Configuration) -> Void = { _ in },
  _ body: (TestProxy) async throws -> Void
) async throws {
  try await withReverseServer(
    cache: change,
    server: { configuration in
      configuration.adminAddress = ListeningAddress(host: "127.0.0.1", port: 0)
      configuration.proxy.nodeName = "node-1"
      changeServer(&configuration)
    }, body)
}
