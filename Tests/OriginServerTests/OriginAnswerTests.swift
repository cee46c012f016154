// SPDX-License-Identifier: MIT

import Foundation
import OriginServer
import Testing

@Suite(.timeLimit(.minutes(1)))
struct OriginAnswerTests {
  let bytes = SyntheticBytes(seed: 1)

  @Test func `A request without a range receives the whole resource`() async throws {
    try await OriginServer.with { origin in
      origin.serve(.synthetic(seed: 1, length: 300_000), at: "/a")
      let reply = try await get(origin, "/a")
      #expect(reply.status == 200)
      #expect(reply["Content-Length"] == "300000")
      #expect(reply["Accept-Ranges"] == "bytes")
      #expect(reply["ETag"] == "\"seed-1\"")
      #expect(reply.body == bytes.bytes(in: 0..<300_000))
    }
  }

  @Test(arguments: [
    ("bytes=0-0", 0..<1), ("bytes=10-19", 10..<20), ("bytes=990-", 990..<1000),
    ("bytes=-5", 995..<1000), ("bytes=-5000", 0..<1000), ("bytes=900-5000", 900..<1000),
  ])
  func `A range request receives its bytes`(_ field: String, _ range: Range<Int>) async throws {
    try await OriginServer.with { origin in
      origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
      let reply = try await get(origin, "/a", ["Range: \(field)"])
      #expect(reply.status == 206)
      #expect(
        reply["Content-Range"] == "bytes \(range.lowerBound)-\(range.upperBound - 1)/1000")
      #expect(reply["Content-Length"] == "\(range.count)")
      #expect(reply.body == bytes.bytes(in: Int64(range.lowerBound)..<Int64(range.upperBound)))
    }
  }

  @Test(arguments: ["bytes=5-4", "bytes=a-b", "items=0-1", "bytes=0-1,5-6", "bytes=-", "bytes"])
  func `An invalid or unsupported range is ignored`(_ field: String) async throws {
    try await OriginServer.with { origin in
      origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
      let reply = try await get(origin, "/a", ["Range: \(field)"])
      #expect(reply.status == 200)
    }
  }

  @Test(arguments: ["bytes=1000-", "bytes=1000-2000", "bytes=-0"])
  func `An unsatisfiable range receives a 416 response`(_ field: String) async throws {
    try await OriginServer.with { origin in
      origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
      let reply = try await get(origin, "/a", ["Range: \(field)"])
      #expect(reply.status == 416)
      #expect(reply["Content-Range"] == "bytes */1000")
    }
  }

  @Test func `A resource without range support ignores Range`() async throws {
    try await OriginServer.with { origin in
      var resource = OriginResource.synthetic(seed: 1, length: 1000)
      resource.supportsRanges = false
      origin.serve(resource, at: "/a")
      let reply = try await get(origin, "/a", ["Range: bytes=10-19"])
      #expect(reply.status == 200)
      #expect(reply["Accept-Ranges"] == nil)
      #expect(reply.body.count == 1000)
    }
  }

  @Test func `A resource without a declared length is sent in chunks`() async throws {
    try await OriginServer.with { origin in
      var resource = OriginResource.synthetic(seed: 1, length: 200_000)
      resource.declaresLength = false
      origin.serve(resource, at: "/a")
      let whole = try await get(origin, "/a")
      #expect(whole["Content-Length"] == nil)
      #expect(whole["Transfer-Encoding"] == "chunked")
      #expect(whole.isComplete)
      #expect(whole.body == bytes.bytes(in: 0..<200_000))
      let part = try await get(origin, "/a", ["Range: bytes=10-19"])
      #expect(part["Content-Range"] == "bytes 10-19/*")
      #expect(part.body == bytes.bytes(in: 10..<20))
    }
  }

  @Test func `A HEAD response has no body`() async throws {
    try await OriginServer.with { origin in
      origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
      try await RawConnection.open(port: origin.port) { connection in
        let head = try await connection.reply(to: "/a", method: "HEAD")
        #expect(head["Content-Length"] == "1000")
        // The next response follows at once on the same connection.
        #expect(try await connection.reply(to: "/a").body.count == 1000)
      }
      #expect(origin.log("/a").connections == 1)
    }
  }

  @Test func `Pipelined requests are answered in order`() async throws {
    try await OriginServer.with { origin in
      origin.serve(.synthetic(seed: 1, length: 100_000), at: "/a")
      try await RawConnection.open(port: origin.port) { connection in
        try await connection.request("/a", ["Range: bytes=0-9"])
        try await connection.request("/a", ["Range: bytes=10-99999"])
        #expect(try await connection.readReply().body == bytes.bytes(in: 0..<10))
        #expect(try await connection.readReply().body == bytes.bytes(in: 10..<100_000))
      }
    }
  }

  @Test func `A resource in memory is sent whole and in parts`() async throws {
    try await OriginServer.with { origin in
      let content = bytes.bytes(in: 0..<1_500_000)
      origin.serve(OriginResource(.bytes(content)), at: "/a")
      #expect(try await get(origin, "/a").body == content)
      let part = try await get(origin, "/a", ["Range: bytes=1000000-1000999"])
      #expect(part.body == Array(content[1_000_000..<1_001_000]))
    }
  }

  @Test func `An unknown path receives 404, and an unknown method 405`() async throws {
    try await OriginServer.with { origin in
      origin.serve(.synthetic(seed: 1, length: 10), at: "/a")
      let unknown = try await get(origin, "/b")
      #expect(unknown.status == 404)
      #expect(try await get(origin, "/a", method: "DELETE").status == 405)
      #expect(try await get(origin, "/a?token=1").status == 200)
    }
  }

  @Test func `A request without the required header receives 401`() async throws {
    try await OriginServer.with { origin in
      var resource = OriginResource.synthetic(seed: 1, length: 10)
      resource.requiredHeader = Field("Authorization", "Bearer good")
      origin.serve(resource, at: "/a")
      let refused = try await get(origin, "/a")
      #expect(refused.status == 401)
      #expect(refused["WWW-Authenticate"] != nil)
      #expect(try await get(origin, "/a", ["authorization: Bearer good"]).status == 200)
    }
  }
}
