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

/// Returns the response to one request for a resource under these faults.
func answer(
  _ faults: Fault..., fields: [String] = [], length: Int64 = 1000
) async throws -> Reply {
  try await OriginServer.with { origin in
    origin.serve(.synthetic(seed: 1, length: length), at: "/a")
    origin.script("/a", .on(.all, faults))
    return try await get(origin, "/a", fields)
  }
}
