// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// The bytes of responses as they are counted: for the log.
@Suite(.timeLimit(.minutes(2))) struct CountedBytesTests {
  @Test(arguments: [true, false])
  func `The bytes that a client has received count, although it leaves`(
    sendsFiles: Bool
  ) async throws {
    let (length, read): (Int64, Int64) = (48 << 20, 20 << 20)
    try await withProxy(proxy: { configuration, _ in
      configuration.sendsFiles = sendsFiles
    }) { test in
      try await Self.store(test, length)
      #expect(try await test.get("/a", ["Range: bytes=0-9"]).body.count == 10)
      try #require(test.proxy.service.hits.resource(for: try test.target("/a")) != nil)
      try await test.onSocket(receiveBuffer: 64 << 10) { client in
        try client.send(try test.request(for: "/a"))
        _ = try client.receive(exactly: Int(read))
        client.reset()
      }
      try await eventually("it is logged") { test.log.all.count == 2 }
      let logged = try #require(test.log.all.last)
      #expect(logged.status == 200 && logged.source == .hit)
      // All but a part of the region that was being sent.
      #expect(logged.bytesSent >= read - (5 << 20) && logged.bytesSent < length)
      #expect(logged.bytesFromCache == logged.bytesSent)
      let values = test.proxy.service.traffic.values
      #expect(values.sentBytes.reduce(0, +) == 10 + logged.bytesSent)
      #expect(values.savedBytes == 10 + logged.bytesSent)
    }
  }

  @Test func `Stored bytes that are examined before they are sent count once`() async throws {
    try await withProxy { test in
      // Neither its type nor its name says that it is no manifest.
      let bytes = [0x47] + SyntheticBytes(seed: 1).bytes(in: 1..<1000)
      var resource = OriginResource(.bytes(bytes), contentType: "application/octet-stream")
      resource.headers = [Field("Cache-Control", "max-age=600")]
      test.origin.serve(resource, at: "/a")
      try await test.cache.prefetch(Resource(url: test.origin.url("/a")))
      let events = test.cache.events(includingTraffic: true)
      #expect(try await test.get("/a").body == bytes)
      var served = 0
      for await case .servedFromDisk(_, let count) in events {
        served += count
        if served >= bytes.count { break }
      }
      #expect(served == bytes.count)
    }
  }

  private static func store(_ test: TestProxy, _ length: Int64) async throws {
    var resource = OriginResource.synthetic(seed: 1, length: length)
    resource.headers = [Field("Cache-Control", "max-age=600")]
    test.origin.serve(resource, at: "/a")
    try await test.cache.prefetch(Resource(url: test.origin.url("/a")))
  }
}
