// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// ffmpeg, mpv and VLC request metadata between the bytes from every server.
@Suite(.timeLimit(.minutes(2))) struct LiveStreamTests {
  private let length: Int64 = 300_007
  private let bytes = SyntheticBytes(seed: 7).bytes(in: 0..<300_007)
  private let interleaving = Interleaving(interval: 8000, titles: [1: "One", 5: "Two"])

  /// Returns a recording from a server that interleaves.
  private func recording(maxAge: Int = 1000) -> OriginResource {
    var resource = OriginResource.synthetic(seed: 7, length: length)
    resource.supportsRanges = false
    resource.headers = [
      Field("icy-name", "Radio"), Field("Cache-Control", "max-age=\(maxAge)"),
    ]
    resource.interleaving = interleaving
    return resource
  }

  @Test(arguments: [true, false])
  func `Interleaved metadata is neither stored nor served`(_ asksItself: Bool) async throws {
    try await withProxy(proxy: { configuration, _ in
      if asksItself { configuration.headers["Icy-MetaData"] = "1" }
    }) { test in
      test.origin.serve(recording(), at: "/a")
      for headers in [["Icy-MetaData: 1"], [], ["icy-metadata: 1", "Range: bytes=0-"]] {
        let reply = try await test.get("/a", headers)
        #expect(reply.body == bytes && reply.isComplete)
        #expect(reply["icy-metaint"] == nil && reply["icy-name"] == "Radio")
      }
      let requests = test.origin.log("/a").requests
      #expect(requests.count == 1)
      #expect((requests.first?.request.headers.first("Icy-MetaData") == "1") == asksItself)
    }
  }

  /// Stored bodies have no interleaved metadata, whatever a 304 response says.
  @Test func `A revalidated response does not announce interleaved metadata`() async throws {
    try await withProxy(proxy: { configuration, _ in configuration.headers["Icy-MetaData"] = "1" })
    {
      test in
      test.origin.serve(recording(maxAge: 0), at: "/a")
      test.origin.script("/a", .on(.from(2), .header("icy-metaint", "8000")))
      for _ in 0..<3 {
        let reply = try await test.get("/a")
        #expect(reply.body == bytes && reply["icy-metaint"] == nil)
      }
      #expect(test.origin.log("/a").requests.compactMap(\.status).contains(304))
    }
  }

  @Test func `A relayed response contains metadata only if its client requested it`() async throws {
    try await withProxy(proxy: { configuration, _ in configuration.headers["Icy-MetaData"] = "1" })
    {
      test in
      test.origin.serve(recording(), at: "/a")
      let reply = try await test.get("/a", ["Cache-Control: no-store"])
      #expect(reply.body == bytes && reply["icy-metaint"] == nil)
    }
    try await withProxy { test in
      test.origin.serve(recording(), at: "/a")
      let reply = try await test.get("/a", ["Cache-Control: no-store", "Icy-MetaData: 1"])
      #expect(reply["icy-metaint"] == "8000")
      // One byte per block, and two titles of 18 bytes, padded to 32.
      let blocks = 300_007 / 8000 + 2 * 32
      #expect(reply.body.count == 300_007 + blocks)
    }
  }

  @Test(arguments: [[], ["Range: bytes=0-"], ["Range: bytes=5000000-"]])
  func `A station is streamed live, regardless of Range, and not stored`(
    _ headers: [String]
  ) async throws {
    try await withProxy { test in
      var station = OriginResource.station(seed: 7, interleaving: interleaving)
      // The station breaks off there, and so does the response.
      station.content = .synthetic(seed: 7, length: length)
      test.origin.serve(station, at: "/radio")
      for _ in 0..<2 {
        let reply = try await test.get("/radio", headers + ["Icy-MetaData: 1"])
        #expect(reply.status == 200 && reply["icy-metaint"] == nil)
        #expect(reply.body == bytes && !reply.isComplete)
      }
      try await #expect(test.cache.entries().isEmpty)
    }
  }
}
