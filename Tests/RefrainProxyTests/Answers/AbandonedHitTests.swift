// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Clients that leave in the middle of a response from the cache.
@Suite(.timeLimit(.minutes(2))) struct AbandonedHitTests {
  private static let length: Int64 = 48 << 20
  private static let read: Int64 = 20 << 20

  @Test(arguments: [true, false])
  func `The bytes that a client has received count, although it leaves`(
    sendsFiles: Bool
  ) async throws {
    try await withProxy(proxy: { configuration, _ in
      configuration.sendsFiles = sendsFiles
    }) { test in
      var resource = OriginResource.synthetic(seed: 1, length: Self.length)
      resource.headers = [Field("Cache-Control", "max-age=600")]
      test.origin.serve(resource, at: "/a")
      try await test.cache.prefetch(Resource(url: test.origin.url("/a")))
      #expect(try await test.get("/a", ["Range: bytes=0-9"]).body.count == 10)
      let target = try test.target("/a")
      try #require(test.proxy.service.hits.resource(for: target) != nil)
      let (port, host) = (test.port, test.host)
      try await onThread {
        let client = try PlainSocket(port: port, receiveBuffer: 64 << 10)
        try client.send("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        _ = try client.receive(exactly: Int(Self.read))
        client.reset()
      }
      try await eventually("it is logged") { test.log.all.count == 2 }
      let logged = try #require(test.log.all.last)
      #expect(logged.status == 200 && logged.source == .hit)
      // All but a part of the region that was being sent.
      #expect(logged.bytesSent >= Self.read - (5 << 20) && logged.bytesSent < Self.length)
      #expect(logged.bytesFromCache == logged.bytesSent)
      let values = test.proxy.service.traffic.values
      #expect(values.sentBytes.reduce(0, +) == 10 + logged.bytesSent)
      #expect(values.savedBytes == 10 + logged.bytesSent)
    }
  }
}
