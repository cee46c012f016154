// SPDX-License-Identifier: MIT

import Foundation
import OriginServer
import Testing

/// Faults in a body and its framing.
@Suite(.timeLimit(.minutes(1)))
struct FaultBodyTests {
  let part = ["Range: bytes=100-199"]
  let bytes = SyntheticBytes(seed: 1)

  @Test func `A body is shorter than its Content-Length`() async throws {
    let reply = try await answer(.wrongContentLength(by: 5))
    #expect(reply["Content-Length"] == "1005")
    #expect(reply.body == bytes.bytes(in: 0..<1000))
    #expect(!reply.isComplete)
  }

  @Test func `A body is longer than its Content-Length`() async throws {
    try await OriginServer.with { origin in
      origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
      origin.script("/a", .on(.all, .wrongContentLength(by: -5)))
      try await RawConnection.open(port: origin.port) { connection in
        let reply = try await connection.reply(to: "/a")
        #expect(reply.body == bytes.bytes(in: 0..<995))
        // The rest comes where the next response should begin.
        #expect(try await connection.read(upTo: 5) == bytes.bytes(in: 995..<1000))
      }
    }
  }

  @Test func `A limit shortens range responses, but not whole ones`() async throws {
    let reply = try await answer(.atMost(10), fields: part)
    #expect(reply["Content-Range"] == "bytes 100-109/1000")
    #expect(reply.body == bytes.bytes(in: 100..<110))
    let whole = try await answer(.atMost(10))
    #expect(whole.body.count == 1000)
  }

  @Test func `A body is truncated or extended under an unchanged Content-Range`() async throws {
    let short = try await answer(.truncatedBody(to: 10), fields: part)
    #expect(short["Content-Range"] == "bytes 100-199/1000")
    #expect(short["Content-Length"] == "10")
    #expect(short.body == bytes.bytes(in: 100..<110))
    let long = try await answer(.extendedBody([1, 2, 3]), fields: part)
    #expect(long["Content-Range"] == "bytes 100-199/1000")
    #expect(long["Content-Length"] == "103")
    #expect(long.body == bytes.bytes(in: 100..<200) + [1, 2, 3])
  }

  @Test func `A chunked response has no Content-Length`() async throws {
    let reply = try await answer(.chunked, length: 200_000)
    #expect(reply["Content-Length"] == nil)
    #expect(reply.isComplete)
    #expect(reply.body == bytes.bytes(in: 0..<200_000))
    let dropped = try await answer(.chunked, .drop(at: .body(100)))
    #expect(!dropped.isComplete)
  }

  @Test func `A response ends with the close of the connection`() async throws {
    let reply = try await answer(.toTheClose, length: 200_000)
    #expect(reply["Content-Length"] == nil)
    #expect(reply["Transfer-Encoding"] == nil)
    #expect(reply["Connection"] == "close")
    #expect(reply.body == bytes.bytes(in: 0..<200_000))
  }

  @Test func `A gzip response is sent even if only identity is accepted`() async throws {
    let reply = try await answer(.gzip, fields: part + ["Accept-Encoding: identity"])
    #expect(reply["Content-Encoding"] == "gzip")
    // One stored block: 10 bytes of header, 5 of block, the data, its CRC-32 and length.
    #expect(reply.body.count == 123)
    #expect(reply.body.starts(with: [0x1F, 0x8B, 8]))
    #expect(Array(reply.body[15..<115]) == bytes.bytes(in: 100..<200))
    #expect(Array(reply.body.suffix(4)) == [100, 0, 0, 0])
  }

  @Test func `A single range is answered as multipart`() async throws {
    let reply = try await answer(.multipart, fields: part)
    #expect(reply.status == 206)
    #expect(reply["Content-Range"] == nil)
    #expect(reply["Content-Type"] == "multipart/byteranges; boundary=REFRAIN")
    #expect(reply.isComplete)
    let head =
      "--REFRAIN\r\nContent-Type: application/octet-stream\r\n"
      + "Content-Range: bytes 100-199/1000\r\n\r\n"
    var body = Array(head.utf8)
    body += bytes.bytes(in: 100..<200)
    body += Array("\r\n--REFRAIN--\r\n".utf8)
    #expect(reply.body == body)
  }
}
