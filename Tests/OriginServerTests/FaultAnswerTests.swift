// SPDX-License-Identifier: MIT

import Foundation
import OriginServer
import Testing

/// Faults that replace the response, or are in its head.
@Suite(.timeLimit(.minutes(1)))
struct FaultAnswerTests {
  let part = ["Range: bytes=100-199"]
  let bytes = SyntheticBytes(seed: 1)

  @Test func `A connection is closed without a response`() async throws {
    let reply = try await answer(.closeWithoutAnswer)
    #expect(reply.status == 0)
  }

  @Test func `Garbage is sent in place of a response`() async throws {
    try await OriginServer.with { origin in
      origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
      origin.script("/a", .on(.all, .garbage(Array("SSH-2.0-what\r\n".utf8))))
      try await RawConnection.open(port: origin.port) { connection in
        try await connection.request("/a")
        let text = try await connection.readToEnd()
        #expect(text == Array("SSH-2.0-what\r\n".utf8))
        #expect(!connection.wasReset)
      }
      #expect(origin.log("/a").requests.map(\.status) == [nil])
    }
  }

  @Test(arguments: [403, 404, 410, 416, 429, 500, 503])
  func `A response has the scripted status`(_ status: Int) async throws {
    let reply = try await answer(.status(status))
    #expect(reply.status == status)
    #expect(reply.isComplete)
  }

  @Test func `Another status is sent above the same response`() async throws {
    let reply = try await answer(.statusLine(203))
    #expect(reply.status == 203 && reply.body == bytes.bytes(in: 0..<1000))
  }

  @Test func `Retry-After is sent in seconds, as a date, or not at all`() async throws {
    let seconds = try await answer(.unavailable(.seconds(7)))
    #expect(seconds.status == 503)
    #expect(seconds["Retry-After"] == "7")
    let date = try await answer(.tooManyRequests(.date(Date(timeIntervalSince1970: 784_111_777))))
    #expect(date.status == 429)
    #expect(date["Retry-After"] == "Sun, 06 Nov 1994 08:49:37 GMT")
    let unknown = try await answer(.unavailable())
    #expect(unknown["Retry-After"] == nil)
  }

  @Test func `A scripted 401 applies only to requests that match`() async throws {
    try await OriginServer.with { origin in
      origin.serve(.synthetic(seed: 1, length: 10), at: "/a")
      let stranger = RequestMatcher.where { $0.headers.first("Authorization") != "Bearer new" }
      origin.script("/a", .on(stranger, .unauthorized))
      let refused = try await get(origin, "/a", ["Authorization: Bearer old"])
      #expect(refused.status == 401)
      #expect(try await get(origin, "/a", ["Authorization: Bearer new"]).status == 200)
    }
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func `A redirect has the scripted status and Location`(_ status: Int) async throws {
    for location in ["/b?x=1", "../b", "http://127.0.0.1:1/b", "/a"] {
      let reply = try await answer(.redirect(status, to: location))
      #expect(reply.status == status)
      #expect(reply["Location"] == location)
    }
  }

  @Test func `A delayed response waits until it is released`() async throws {
    try await OriginServer.with { origin in
      origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
      origin.script("/a", .on(.first(1), .delay(nil), .delay(.milliseconds(1))))
      async let reply = get(origin, "/a")
      try await origin.wait(for: "/a") { $0.stalled == 1 }
      #expect(origin.log("/a").requests.map(\.status) == [nil])
      origin.release("/a")
      #expect(try await reply.body.count == 1000)
      #expect(origin.log("/a").stalled == 0)
    }
  }

  @Test func `An informational response precedes the final response`() async throws {
    let reply = try await answer(.informational(103, headers: [Field("Link", "</b>")]))
    #expect(reply.informational == [103])
    #expect(reply.status == 200)
    #expect(reply.body.count == 1000)
  }

  @Test func `A response carries 100 KiB of headers`() async throws {
    let reply = try await answer(.hugeHeaders(bytes: 100 * 1024))
    #expect(reply.fields.reduce(0) { $0 + $1.name.count + $1.value.count } > 100_000)
    #expect(reply.body.count == 1000)
  }

  @Test func `Headers are replaced, removed and added`() async throws {
    let reply = try await answer(
      .header("Content-Type", "text/html"), .header("Accept-Ranges", nil),
      .header("Cache-Control", "no-store"))
    #expect(reply["Content-Type"] == "text/html")
    #expect(reply["Accept-Ranges"] == nil)
    #expect(reply["Cache-Control"] == "no-store")
  }

  @Test func `A response has a wrong Content-Range, or none`() async throws {
    let start = try await answer(.wrongContentRange(start: 1), fields: part)
    #expect(start["Content-Range"] == "bytes 101-199/1000")
    let end = try await answer(.wrongContentRange(end: -1), fields: part)
    #expect(end["Content-Range"] == "bytes 100-198/1000")
    let total = try await answer(.wrongContentRange(total: 5), fields: part)
    #expect(total["Content-Range"] == "bytes 100-199/1005")
    #expect(total.body == bytes.bytes(in: 100..<200))
    let none = try await answer(.header("Content-Range", nil), fields: part)
    #expect(none.status == 206)
    #expect(none["Content-Range"] == nil)
  }

  @Test func `An ignored Range is answered with the whole resource`() async throws {
    let reply = try await answer(.ignoreRange, fields: part)
    #expect(reply.status == 200)
    #expect(reply["Content-Range"] == nil)
    #expect(reply["Accept-Ranges"] == "bytes")
    #expect(reply.body == bytes.bytes(in: 0..<1000))
  }

  @Test func `Validators are replaced or removed`() async throws {
    let weak = try await answer(.weakETag())
    #expect(weak["ETag"] == "W/\"weak\"")
    let none = try await answer(.noValidators, fields: ["If-None-Match: \"seed-1\""])
    #expect(none.status == 200)
    #expect(none["ETag"] == nil)
    let date = Date(timeIntervalSince1970: 784_111_777)
    let modified = try await answer(.lastModified(date))
    #expect(modified["Last-Modified"] == "Sun, 06 Nov 1994 08:49:37 GMT")
    let other = try await answer(.etag("\"x\""), fields: part + ["If-Range: \"seed-1\""])
    #expect(other.status == 200)
  }

  @Test func `A new generation is served from the scripted request on`() async throws {
    try await OriginServer.with { origin in
      let range = ["Range: bytes=10-19"]
      origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
      origin.script("/a", .on(.from(2), .answerFrom(.synthetic(seed: 2, length: 2000))))
      #expect(try await get(origin, "/a", range).body == bytes.bytes(in: 10..<20))
      let second = try await get(origin, "/a", range)
      #expect(second["ETag"] == "\"seed-2\"")
      #expect(second["Content-Range"] == "bytes 10-19/2000")
      #expect(second.body == SyntheticBytes(seed: 2).bytes(in: 10..<20))
      #expect(try await get(origin, "/a", range + ["If-Range: \"seed-1\""]).status == 200)
      // Bytes of two generations at the same offsets count separately.
      let log = try await origin.wait(for: "/a") { $0.running == 0 }
      #expect(log.bytesSentTwice == 10)
    }
  }
}
