// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

@testable import Refrain
@testable import RefrainProxy

/// A cache in which no further resource can be open (`EntryTable`).
@Suite(.timeLimit(.minutes(1))) struct FullTableTests {
  /// Runs a proxy of the origin whose cache has room for one open resource.
  private func withRoomForOne(
    _ body: (OriginServer, MediaCache, _ port: Int) async throws -> Void
  ) async throws {
    try await withSuccession { origin, directory in
      let cache = try MediaCache(
        directory: directory, configuration: TestProxy.configuration(), disk: nil,
        table: EntryTable(most: { 1 }, patience: .milliseconds(20)))
      var configuration = CacheProxy.Configuration()
      configuration.origin = origin.baseURL
      configuration.stopTimeout = .milliseconds(50)
      let proxy = try CacheProxy(cache: cache, configuration: configuration)
      let running = Task { try await proxy.run() }
      let result: Result<Void, any Error>
      do {
        try await proxy.waitUntilListening()
        result = .success(try await body(origin, cache, proxy.listeningAddress?.port ?? 0))
      } catch {
        result = .failure(error)
      }
      await proxy.stop()
      _ = await running.result
      await cache.close()
      try result.get()
    }
  }

  @Test func `A request without room for its resource receives 503 with Retry-After`()
    async throws
  {
    try await withRoomForOne { origin, cache, port in
      for path in ["/held", "/a"] {
        origin.serve(Caching.resource(1, ["Cache-Control": "max-age=600"]), at: path)
      }
      func get(_ path: String, method: String = "GET") async throws -> Reply {
        try await RawConnection.open(port: port) {
          try await $0.reply(to: path, method: method, host: "127.0.0.1:\(port)")
        }
      }
      let reader = try await cache.open(origin.url("/held"))
      #expect(try await reader.bytes(in: 0..<Caching.length) == Data(Caching.bytes(1)))
      for method in ["GET", "HEAD"] {
        let reply = try await get("/a", method: method)
        #expect(reply.status == 503 && reply.isComplete)
        #expect(reply["Retry-After"] == "1")
        if method == "GET" {
          #expect(reply.text.contains("Too many resources are open at once"))
        }
      }
      #expect(origin.log("/a").requests.isEmpty)
      // One more reader of an open resource takes no room.
      #expect(try await get("/held").body == Caching.bytes(1))
      reader.cancel()
      try await eventually("there is room again") { try await get("/a").status == 200 }
    }
  }
}
