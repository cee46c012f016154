// SPDX-License-Identifier: MIT
import OriginServer
@_exported import TestSupport

/// Sends one request on a connection of its own.
func get(
  _ origin: OriginServer, _ target: String, _ headers: [String] = [], method: String = "GET"
) async throws -> Reply {
  try await RawConnection.open(port: origin.port) { connection in
    try await connection.reply(to: target, headers, method: method)
  }
}

/// Runs the body with an origin that is stopped afterwards.
func withOrigin(
  sendBuffer: Int? = nil, _ body: @Sendable (OriginServer) async throws -> Void
) async throws {
  let origin = try await OriginServer.start(sendBuffer: sendBuffer)
  do {
    try await body(origin)
  } catch {
    await origin.stop()
    throw error
  }
  await origin.stop()
}
