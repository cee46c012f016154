// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

@Suite(.timeLimit(.minutes(2))) struct ColdAndWarmTests {
  @Test func `Cold and warm responses match the origin, which sends each byte once`() async throws {
    try await withProxy { test in
      let length: Int64 = 3_000_001
      let bytes = SyntheticBytes(seed: 7).bytes(in: 0..<length)
      var resource = OriginResource.synthetic(seed: 7, length: length)
      resource.headers = [Field("Cache-Control", "max-age=3600")]
      test.origin.serve(resource, at: "/a.mp3")
      for _ in 0..<3 {
        let reply = try await test.get("/a.mp3")
        #expect(reply.status == 200)
        #expect(reply.isComplete)
        #expect(reply.body == bytes)
        let part = try await test.get("/a.mp3", ["Range: bytes=1000000-1000009"])
        #expect(part.status == 206)
        #expect(part["Content-Range"] == "bytes 1000000-1000009/\(length)")
        #expect(part.body == Array(bytes[1_000_000..<1_000_010]))
      }
      let log = try await test.settledLog("/a.mp3")
      #expect(log.bodyBytesSent == length)
      #expect(log.bytesSentTwice == 0)
      // A request is reported when its response is over; its client may know that before.
      try await eventually("all are told of") { test.log.all.count == 6 }
      #expect(test.log.all.map(\.source) == [.miss, .hit, .hit, .hit, .hit, .hit])
    }
  }
}
